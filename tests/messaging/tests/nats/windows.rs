//! How long the server may deliver again, as it says itself, against how long a record is kept: seven days.

use std::num::NonZeroU32;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::Config;
use idem_messaging::broker::nats::NatsSource;
use idem_tests::patience::in_time;
use idem_tests_messaging::receiver::{Act, Receiver};
use idem_tests_messaging::warnings::Warnings;
use sqlx::Sqlite;

use super::site::{Running, Site};

const DAY: Duration = Duration::from_hours(24);
const MANY: u32 = 1_000_000;

/// A stream that keeps its messages for this time; zero is for ever.
async fn site(max_age: Duration) -> Site {
    let site = Site::fresh().await;
    let config = Config {
        name: site.stream.clone(),
        subjects: vec![format!("{}.>", site.stream)],
        max_age,
        ..Config::default()
    };
    let updated = in_time("an answer", site.jetstream.update_stream(config)).await;
    updated.expect("updated");
    site
}

/// Runs a source until it has handled a message, and returns what it said of the record's retention.
async fn said(site: &Site, source: NatsSource) -> Vec<String> {
    let (warnings, _guard) = Warnings::of_this_thread();
    let receiver = Receiver::<Sqlite>::fresh().await;
    let running = Running::start(source, receiver.consumer(|_| Act::Run));
    site.publish("one").await;
    receiver.committed(1).await;
    running.stop().await;
    warnings.with("its record is kept")
}

fn deliveries(max_deliver: u32) -> NonZeroU32 {
    NonZeroU32::new(max_deliver).expect("not zero")
}

#[tokio::test]
async fn a_source_warns_at_its_start_if_the_stream_may_deliver_after_the_record_is_gone() {
    for (days, max_deliver, window) in [
        // The age ends first.
        (8, MANY, Some("691200s")),
        (6, MANY, None),
        // The deliveries end first: each may wait for the second of `ack_wait`, and for the 20 ms of a nak.
        (30, MANY, Some("1020000s")),
        (0, MANY, Some("1020000s")),
        (30, 1_000, None),
        (0, 1_000, None),
    ] {
        let site = site(days * DAY).await;
        let source = site.source().with_max_deliver(deliveries(max_deliver));
        let said = said(&site, source).await;
        match (&said[..], window) {
            ([], None) => {}
            ([text], Some(window)) => {
                let expected = format!("again for {window}, and its record is kept for 604800s");
                assert!(text.contains(&expected), "{text}");
                assert!(text.contains("consumer `receiver`"), "{text}");
                assert!(text.contains(&site.stream), "{text}");
            }
            _ => panic!("{days} days, {max_deliver} deliveries: {said:?}"),
        }
    }
}

#[tokio::test]
async fn the_backoff_of_a_consumer_that_is_there_counts() {
    for (last, window) in [(1, None), (60, Some("1200341s"))] {
        let site = site(30 * DAY).await;
        let second = Duration::from_secs(1);
        let config = pull::Config {
            durable_name: Some("receiver".to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: second,
            max_deliver: 20_000,
            backoff: vec![second, Duration::from_secs(last)],
            ..pull::Config::default()
        };
        let stream = site.jetstream.get_stream(&site.stream).await;
        let created = stream.expect("it is there").create_consumer(config).await;
        created.expect("a consumer");
        let source = site.source().with_max_deliver(deliveries(20_000));
        let said = said(&site, source).await;
        let Some(window) = window else {
            assert!(said.is_empty(), "{said:?}");
            continue;
        };
        let [text] = &said[..] else {
            panic!("{said:?}")
        };
        // One delivery waits a second, 19,999 a minute, and each 20 ms more for its nak.
        assert!(text.contains(&format!("again for {window}")), "{text}");
    }
}
