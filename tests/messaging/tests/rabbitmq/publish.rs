//! Publishing to RabbitMQ.

use std::time::Duration;

use idem_messaging::broker::rabbitmq::RabbitMqPublisher;
use idem_messaging::outbox::{
    Event, EventBuilder, Origin, OutboxEvent, PublishErrorKind, Publisher as _,
};
use idem_runtime::record::Timestamp;
use idem_runtime::{IdempotencyKey, Operation};
use idem_tests::patience::in_time;
use idem_tests::proxy::{Fate, Proxy};
use idem_tests_messaging::brokers::{self, CUT, Port, fresh};
use idem_tests_messaging::receiver::{Act, Receiver};

use super::site::{Running, Site, uri};

const OPERATION: Operation = Operation::new("facts", "note");

fn event(topic: &str, build: impl FnOnce(EventBuilder) -> EventBuilder) -> OutboxEvent {
    let key: IdempotencyKey = "a-key".parse().expect("a key");
    let origin = Origin::of(OPERATION, &key.global()).expect("an origin");
    let builder = Event::builder(&origin, "noted")
        .topic(topic)
        .event_type("com.example.noted");
    let event = build(builder).build().expect("an event");
    OutboxEvent::new(event, Timestamp::from_micros(1_700_000_000_000_000), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_no_queue_takes_is_not_published() {
    let publisher = RabbitMqPublisher::new(uri(brokers::rabbitmq()), "amq.topic");
    let event = event(&fresh("nowhere"), |event| event.json(&1));
    let answered = in_time("an answer", publisher.publish(&event)).await;
    let error = answered.expect_err("nobody takes it");
    assert_eq!(error.kind(), PublishErrorKind::Retry, "{error}");
    assert!(error.to_string().contains("NO_ROUTE"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_is_not_there_uses_up_no_attempt_of_an_event() {
    let publisher = RabbitMqPublisher::new(uri(brokers::rabbitmq()), fresh("nowhere"));
    let event = event("facts", |event| event.json(&1));
    for _ in 0..2 {
        let answered = in_time("an answer", publisher.publish(&event)).await;
        let error = answered.expect_err("nobody takes it");
        assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_away_uses_up_no_attempt_of_an_event() {
    let proxy = Proxy::to(&Port(brokers::rabbitmq())).await;
    let publisher = RabbitMqPublisher::new(uri(proxy.options().0), "amq.topic");
    proxy.cut();
    let event = event("facts", |event| event.json(&1));
    let answered = in_time("an answer", publisher.publish(&event)).await;
    let error = answered.expect_err("nobody is there");
    assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_cut_at_the_confirm_is_no_success_and_the_repeated_event_has_one_effect() {
    let (site, receiver) = (Site::fresh(), Receiver::<sqlx::Sqlite>::fresh().await);
    let running = Running::start(site.source(), receiver.consumer(|_| Act::Run));
    // The queue and its binding are there.
    site.publish("first").await;
    receiver.committed(1).await;
    let proxy = Proxy::to(&Port(brokers::rabbitmq())).await;
    let publisher = RabbitMqPublisher::new(uri(proxy.options().0), "amq.topic");
    let event = event(&site.queue, |event| {
        event.payload("application/json", format!("{{\"id\":\"{CUT}"))
    });
    proxy.next_commit(Fate::CutAnswer);
    let answered = in_time("the publisher gives up", publisher.publish(&event)).await;
    let error = answered.expect_err("no confirm came");
    assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
    proxy.reached().await;
    let answered = in_time("an answer", publisher.publish(&event)).await;
    answered.expect("answered over a new connection");
    receiver.committed(3).await;
    running.stop().await;
    assert_eq!(receiver.effects("cut at this confirm").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_falls_silent_uses_up_no_attempt_and_the_next_connection_is_a_new_one() {
    let (site, receiver) = (Site::fresh(), Receiver::<sqlx::Sqlite>::fresh().await);
    let running = Running::start(site.source(), receiver.consumer(|_| Act::Run));
    site.publish("first").await;
    receiver.committed(1).await;
    let proxy = Proxy::to(&Port(brokers::rabbitmq())).await;
    let publisher = RabbitMqPublisher::new(uri(proxy.options().0), "amq.topic")
        .with_confirm_timeout(Duration::from_secs(2));
    let event = event(&site.queue, |event| {
        event.payload("application/json", format!("{{\"id\":\"{CUT}"))
    });
    // The connection stays open, and no confirm comes over it.
    proxy.next_commit(Fate::Swallow);
    let answered = in_time("the publisher gives up", publisher.publish(&event)).await;
    let error = answered.expect_err("no confirm came");
    assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
    let answered = in_time("an answer", publisher.publish(&event)).await;
    answered.expect("answered over a new connection");
    receiver.committed(3).await;
    running.stop().await;
    assert_eq!(receiver.effects("cut at this confirm").await, 1);
}
