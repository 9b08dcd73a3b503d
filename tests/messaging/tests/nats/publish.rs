//! Publishing to NATS JetStream.

use idem_messaging::broker::nats::NatsPublisher;
use idem_messaging::outbox::{
    Event, EventBuilder, Origin, OutboxEvent, PublishErrorKind, Publisher as _,
};
use idem_runtime::record::Timestamp;
use idem_runtime::{IdempotencyKey, Operation};
use idem_tests::patience::in_time;
use idem_tests::proxy::{Fate, Proxy};
use idem_tests_messaging::brokers::{self, CUT, Port};

use super::site::{Site, connect};

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
async fn an_event_keeps_its_id_and_its_attributes() {
    let site = Site::fresh().await;
    let event = event(&site.subject(), |event| {
        event.subject("case 17 %").json(&"hello")
    });
    let publisher = NatsPublisher::new(site.jetstream.clone());
    for _ in 0..2 {
        publisher.publish(&event).await.expect("answered");
    }
    let stream = site.jetstream.get_stream(&site.stream).await.expect("it");
    let state = stream.get_info().await.expect("its state").state;
    assert_eq!(state.messages, 1, "a repeated event is kept once");
    let kept = stream.get_raw_message(1).await.expect("the event");
    let header = |name: &str| kept.headers.get(name).map(ToString::to_string);
    assert_eq!(header("Nats-Msg-Id").as_deref(), Some(event.id().as_str()));
    assert_eq!(header("ce-type").as_deref(), Some("com.example.noted"));
    assert_eq!(header("ce-subject").as_deref(), Some("case%2017%20%25"));
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_no_stream_takes_is_not_published() {
    let publisher = NatsPublisher::new(connect(brokers::nats()).await);
    let event = event(&brokers::fresh("nowhere"), |event| event.json(&1));
    let error = publisher
        .publish(&event)
        .await
        .expect_err("nobody takes it");
    assert_eq!(error.kind(), PublishErrorKind::Retry, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_the_server_cannot_take_is_dead_at_once() {
    let site = Site::fresh().await;
    let publisher = NatsPublisher::new(site.jetstream.clone());
    let wildcard = event("facts.*", |event| event.json(&1));
    let large = event(&site.subject(), |event| {
        let payload = vec![0; 2 * 1024 * 1024];
        event
            .payload_limit(payload.len())
            .payload("application/octet-stream", payload)
    });
    for event in [wildcard, large] {
        let error = publisher.publish(&event).await.expect_err("it is refused");
        assert_eq!(error.kind(), PublishErrorKind::Permanent, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_cut_at_the_confirm_is_no_success_and_the_repeated_event_is_kept_once() {
    let site = Site::fresh().await;
    let proxy = Proxy::to(&Port(site.port)).await;
    let publisher = NatsPublisher::new(connect(proxy.options().0).await);
    let event = event(&site.subject(), |event| {
        event.payload("application/json", format!("{{\"note\":\"{CUT}"))
    });
    proxy.next_holding(CUT, Fate::CutAnswer);
    let error = in_time("the publisher gives up", publisher.publish(&event)).await;
    let error = error.expect_err("no confirm came");
    assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
    proxy.reached().await;
    in_time("the event is answered again", async {
        while let Err(error) = publisher.publish(&event).await {
            assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
            tokio::task::yield_now().await;
        }
    })
    .await;
    let stream = site.jetstream.get_stream(&site.stream).await.expect("it");
    assert_eq!(
        stream.get_info().await.expect("its state").state.messages,
        1
    );
}
