//! What the adapter declares, as the broker has it, and what it warns of.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use idem_messaging::broker::rabbitmq::RabbitMqSource;
use idem_tests_messaging::receiver::{Act, Receiver};
use idem_tests_messaging::warnings::Warnings;
use lapin::options::QueueDeclareOptions;
use lapin::types::{AMQPValue, FieldTable};
use sqlx::Sqlite;

use super::site::{Link, PARKED_INTERVAL, Running, Site};

const DAY: Duration = Duration::from_hours(24);

type Arguments = BTreeMap<&'static str, AMQPValue>;

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}

fn quorum(more: impl IntoIterator<Item = (&'static str, AMQPValue)>) -> Arguments {
    let quorum = [
        ("x-queue-type", text("quorum")),
        ("x-overflow", text("reject-publish")),
    ];
    quorum.into_iter().chain(more).collect()
}

/// What a queue needs whose dead letters are confirmed by the queue `to` before they leave it.
fn at_least_once(to: &str) -> [(&'static str, AMQPValue); 3] {
    [
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text(to)),
        ("x-dead-letter-strategy", text("at-least-once")),
    ]
}

/// Another value that the argument may have.
fn other(name: &str) -> AMQPValue {
    match name {
        "x-queue-type" => text("classic"),
        "x-overflow" => text("drop-head"),
        "x-dead-letter-exchange" => text("amq.direct"),
        "x-dead-letter-routing-key" => text("elsewhere"),
        "x-dead-letter-strategy" => text("at-most-once"),
        _ => AMQPValue::LongLongInt(17),
    }
}

/// Declares a queue that is there, and returns what the broker says: it refuses other arguments than those that it has.
async fn declare(link: &Link, queue: &str, arguments: &Arguments) -> Result<(), String> {
    let channel = link.connection.create_channel().await.expect("a channel");
    let mut table = FieldTable::default();
    for (name, value) in arguments {
        table.insert((*name).into(), value.clone());
    }
    let options = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(queue.into(), options, table).await;
    declared.map(drop).map_err(|error| error.to_string())
}

/// Asserts that the broker has a queue with exactly these arguments.
async fn assert_has(link: &Link, queue: &str, arguments: &Arguments) {
    let same = declare(link, queue, arguments).await;
    assert_eq!(same, Ok(()), "{queue}");
    for name in arguments.keys() {
        let mut changed = arguments.clone();
        changed.insert(name, other(name));
        let refused = declare(link, queue, &changed).await;
        let refused = refused.expect_err(name);
        assert!(refused.contains("PRECONDITION_FAILED"), "{refused}");
    }
}

/// Runs a source until it has handled a message, and returns what it said of the record's retention.
async fn said(site: &Site, source: RabbitMqSource) -> Vec<String> {
    let (warnings, _guard) = Warnings::of_this_thread();
    let receiver = Receiver::<Sqlite>::fresh().await;
    let running = Running::start(source, receiver.consumer(|_| Act::Run));
    site.publish("one").await;
    receiver.committed(1).await;
    running.stop().await;
    warnings.with("its record is kept")
}

#[tokio::test]
async fn the_broker_has_quorum_queues_whose_dead_letters_are_confirmed_and_a_limit_as_a_backstop() {
    let site = Site::fresh();
    said(&site, site.source().with_message_ttl(DAY)).await;
    let (queue, link) = (site.queue.as_str(), site.link().await);
    let dead = format!("{queue}.dead");
    let milliseconds = |time: u64| ("x-message-ttl", AMQPValue::LongLongInt(time.cast_signed()));
    let mut work = quorum(at_least_once(&dead));
    // The policy of the tests has three attempts.
    work.insert("x-delivery-limit", AMQPValue::LongLongInt(10_000));
    work.extend([milliseconds(86_400_000)]);
    assert_has(&link, queue, &work).await;
    assert_has(&link, &dead, &quorum([])).await;
    let waits = [
        ("wait.5ms", 5),
        ("wait.20ms", 20),
        (&format!("parked.{PARKED_INTERVAL}ms"), PARKED_INTERVAL),
    ];
    for (name, wait) in waits {
        let mut waiting = quorum(at_least_once(queue));
        waiting.extend([milliseconds(wait)]);
        assert_has(&link, &format!("{queue}.{name}"), &waiting).await;
    }
}

#[tokio::test]
async fn a_message_that_ends_its_consumers_is_a_dead_letter_at_the_brokers_limit() {
    let (site, receiver) = (Site::fresh(), Receiver::<Sqlite>::fresh().await);
    let limit = NonZeroU32::new(2).expect("not zero");
    let source = || site.source().with_delivery_limit(limit);
    // The first delivery, and as many again as the limit says.
    for delivery in 1..=3 {
        let running = Running::start(source(), receiver.consumer(|_| Act::Wait));
        if delivery == 1 {
            site.publish("one").await;
        }
        receiver.called(delivery).await;
        running.kill().await;
    }
    let letter = site.dead_letter().await;
    assert_eq!(letter.data, br#"{"id":"one"}"#);
    let headers = letter.properties.headers().clone().expect("headers");
    let Some(AMQPValue::FieldArray(deaths)) = headers.inner().get("x-death") else {
        panic!("{headers:?}")
    };
    let [AMQPValue::FieldTable(death)] = deaths.as_slice() else {
        panic!("{deaths:?}")
    };
    assert_eq!(death.inner().get("reason"), Some(&text("delivery_limit")));
    assert_eq!(receiver.effects("one").await, 0);
}

#[tokio::test]
async fn a_source_warns_at_its_start_if_the_broker_may_deliver_after_the_record_is_gone() {
    // Three attempts, each of which may wait for the time to live and for the longest step of the ladder.
    for (ttl, window) in [(1, None), (3, Some("777600.06s"))] {
        let site = Site::fresh();
        let said = said(&site, site.source().with_message_ttl(ttl * DAY)).await;
        let Some(window) = window else {
            assert!(said.is_empty(), "{said:?}");
            continue;
        };
        let [text] = &said[..] else {
            panic!("{said:?}")
        };
        let expected = format!("again for {window}, and its record is kept for 604800s");
        assert!(text.contains(&expected), "{text}");
        assert!(text.contains(&site.queue), "{text}");
    }
}

#[tokio::test]
async fn a_source_without_a_time_to_live_says_that_there_is_no_end_and_what_to_set() {
    let site = Site::fresh();
    let said = said(&site, site.source()).await;
    let [text] = &said[..] else {
        panic!("{said:?}")
    };
    for part in ["without an end", "`with_message_ttl`", "604800s"] {
        assert!(text.contains(part), "{text}");
    }
}
