//! Messages whose outcome is unknown, at RabbitMQ.

use idem_messaging::inbox::MessageKey;
use idem_tests_messaging::mailer::{Mail, Mailer, Settlement};
use lapin::types::AMQPValue;

use super::site::{Running, Site};

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_comes_back_after_a_resolve_and_gets_the_recorded_answer() {
    let (site, mailer) = (Site::fresh(), Mailer::fresh(|_| Mail::SentUnknown).await);
    let first = Running::start(site.source(), mailer.consumer(MessageKey::broker_id()));
    site.publish_as("one", "id-of-one").await;
    // The first answer, and those of the parked message.
    mailer.called(4).await;
    first.stop().await;
    mailer.settle(Settlement::Completed).await;
    let before = mailer.calls();
    let next = Running::start(site.source(), mailer.consumer(MessageKey::broker_id()));
    mailer.called(before + 1).await;
    next.stop().await;
    site.settled().await;
    assert_eq!(site.dead_letters().await, 0);
    assert_eq!(
        (mailer.calls(), mailer.runs(), mailer.sent()),
        (before + 1, 1, 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_whose_effect_never_happened_has_it_once() {
    let plan = |run| match run {
        0 => Mail::LostUnknown,
        _ => Mail::Sent,
    };
    let (site, mailer) = (Site::fresh(), Mailer::fresh(plan).await);
    let running = Running::start(site.source(), mailer.consumer(MessageKey::broker_id()));
    site.publish_as("one", "id-of-one").await;
    mailer.called(2).await;
    assert_eq!((mailer.runs(), mailer.sent()), (1, 0));
    mailer.settle(Settlement::NeverHappened).await;
    mailer.has_run(2).await;
    running.stop().await;
    site.settled().await;
    assert_eq!((mailer.runs(), mailer.sent()), (2, 1));
    assert_eq!(site.dead_letters().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_that_failed_is_a_dead_letter_under_its_own_id() {
    let (site, mailer) = (Site::fresh(), Mailer::fresh(|_| Mail::SentUnknown).await);
    let running = Running::start(site.source(), mailer.consumer(MessageKey::broker_id()));
    site.publish_as("one", "id-of-one").await;
    mailer.called(2).await;
    mailer.settle(Settlement::Failed).await;
    let letter = site.dead_letter().await;
    running.stop().await;
    let id = letter.properties.message_id().as_ref();
    assert_eq!(id.map(ToString::to_string).as_deref(), Some("id-of-one"));
    let headers = letter.properties.headers().clone().expect("headers");
    let text = |name: &str| match headers.inner().get(name) {
        Some(AMQPValue::LongString(text)) => Some(text.to_string()),
        other => {
            assert_eq!(other, None);
            None
        }
    };
    assert_eq!(text("x-idem-reason").as_deref(), Some("permanent_failure"));
    assert_eq!(text("x-idem-topic"), Some(site.queue.clone()));
    assert_eq!(text("x-idem-attempt-id"), None, "it is parked no more");
    assert_eq!(letter.data, br#"{"id":"one"}"#);
    assert_eq!(mailer.runs(), 1);
    site.settled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_keeps_the_number_of_its_attempts() {
    let plan = |run| match run {
        0 => Mail::LostUnknown,
        _ => Mail::Failed,
    };
    let (site, mailer) = (Site::fresh(), Mailer::fresh(plan).await);
    let running = Running::start(site.source(), mailer.consumer(MessageKey::broker_id()));
    site.publish_as("one", "id-of-one").await;
    mailer.called(2).await;
    mailer.settle(Settlement::NeverHappened).await;
    site.dead_letter().await;
    running.stop().await;
    site.settled().await;
    // The attempt before it was parked counts: it has two.
    assert_eq!((mailer.runs(), mailer.sent()), (2, 0));
}
