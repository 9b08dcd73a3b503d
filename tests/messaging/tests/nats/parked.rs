//! Messages whose outcome is unknown, at NATS JetStream.

use std::time::Duration;

use idem_messaging::broker::nats::NatsSource;
use idem_messaging::inbox::MessageKey;
use idem_tests::patience::in_time;
use idem_tests_messaging::mailer::{Mail, Mailer, Settlement};

use super::site::{Running, Site};

fn source(site: &Site) -> NatsSource {
    site.source()
        .with_parked_interval(Duration::from_millis(20))
}

/// Every part of a message that changes if it is published again elsewhere.
fn key() -> MessageKey {
    MessageKey::broker_id().and(MessageKey::stream_position())
}

/// Waits until so many messages are parked or dead.
async fn aside(site: &Site, count: u64) {
    in_time("the messages are set aside", async {
        while site.dead_letters().await != count {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_comes_back_after_a_resolve_and_gets_the_recorded_answer() {
    let (site, mailer) = (
        Site::fresh().await,
        Mailer::fresh(|_| Mail::SentUnknown).await,
    );
    site.publish_as("one", "id-of-one").await;
    let first = Running::start(source(&site), mailer.consumer(key()));
    // The first answer, and those of the parked message.
    mailer.called(4).await;
    site.settled().await;
    assert_eq!(site.dead_letters().await, 1);
    first.stop().await;
    mailer.settle(Settlement::Completed).await;
    let next = Running::start(source(&site), mailer.consumer(key()));
    aside(&site, 0).await;
    next.stop().await;
    assert_eq!((mailer.runs(), mailer.sent()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_whose_effect_never_happened_has_it_once() {
    let plan = |run| match run {
        0 => Mail::LostUnknown,
        _ => Mail::Sent,
    };
    let (site, mailer) = (Site::fresh().await, Mailer::fresh(plan).await);
    site.publish_as("one", "id-of-one").await;
    let running = Running::start(source(&site), mailer.consumer(key()));
    mailer.called(2).await;
    assert_eq!((mailer.runs(), mailer.sent()), (1, 0));
    mailer.settle(Settlement::NeverHappened).await;
    aside(&site, 0).await;
    running.stop().await;
    assert_eq!((mailer.runs(), mailer.sent()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_that_failed_is_a_dead_letter_under_its_own_id() {
    let (site, mailer) = (
        Site::fresh().await,
        Mailer::fresh(|_| Mail::SentUnknown).await,
    );
    site.publish_as("one", "id-of-one").await;
    let running = Running::start(source(&site), mailer.consumer(key()));
    mailer.called(2).await;
    mailer.settle(Settlement::Failed).await;
    in_time("the dead letter", async {
        while site.dead_letter("permanent_failure").await.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    aside(&site, 1).await;
    running.stop().await;
    let letter = site.last_dead_letter("permanent_failure").await;
    let header = |name: &str| letter.headers.get(name).map(ToString::to_string);
    assert_eq!(header("idem-message-id").as_deref(), Some("id-of-one"));
    assert_eq!(header("idem-subject"), Some(site.subject()));
    assert_eq!(header("idem-position"), Some(format!("{}.1", site.stream)));
    assert_eq!(header("idem-attempt-id"), None);
    assert_eq!(&*letter.payload, br#"{"id":"one"}"#);
    assert_eq!(mailer.runs(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_keeps_the_number_of_its_attempts() {
    let plan = |run| match run {
        0 => Mail::LostUnknown,
        _ => Mail::Failed,
    };
    let (site, mailer) = (Site::fresh().await, Mailer::fresh(plan).await);
    site.publish_as("one", "id-of-one").await;
    let running = Running::start(source(&site), mailer.consumer(key()));
    mailer.called(2).await;
    mailer.settle(Settlement::NeverHappened).await;
    in_time("the dead letter", async {
        while site.dead_letter("attempts_used_up").await.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    aside(&site, 1).await;
    running.stop().await;
    // The attempt before it was parked counts: it has two.
    assert_eq!((mailer.runs(), mailer.sent()), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sources_with_one_prefix_of_dead_letters_try_their_own_parked_messages() {
    let site = Site::fresh().await;
    let (one, other) = (
        Mailer::fresh(|_| Mail::SentUnknown).await,
        Mailer::fresh(|_| Mail::Sent).await,
    );
    site.publish_as("one", "id-of-one").await;
    let parks = Running::start(source(&site), one.consumer(key()));
    let sends = Running::start(
        NatsSource::new(
            site.jetstream.clone(),
            site.stream.clone(),
            "other",
            site.dead.clone(),
        )
        .with_parked_interval(Duration::from_millis(20)),
        other.consumer(key()),
    );
    other.called(1).await;
    one.called(4).await;
    parks.stop().await;
    sends.stop().await;
    assert_eq!((other.calls(), other.sent()), (1, 1));
    assert_eq!(site.dead_letters().await, 1);
}
