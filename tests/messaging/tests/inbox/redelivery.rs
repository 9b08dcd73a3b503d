//! A message comes again, and its effect does not.

use std::future::pending;
use std::sync::Arc;

use idem_messaging::inbox::{DeadLetterReason, Delivery, Message, MessageKey, Verdict};
use idem_tests::gate::{Gate, GatePoint};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::service::{Service, TABLES};
use crate::source::{Source, message, until_ack, verdict};

pub(crate) async fn a_message_redelivered_100_times_to_8_consumers_has_one_effect<D: Service>() {
    let db = D::fresh(TABLES).await;
    let source = Arc::new(Source::repeating(&message("8e03978e", 17, None), 100));
    let mut consumers = JoinSet::new();
    for _ in 0..8 {
        let (db, source) = (db.clone(), Arc::clone(&source));
        consumers.spawn(async move { source.run(&D::notifier(&db)).await });
    }
    let acknowledged: usize = consumers.join_all().await.into_iter().sum();
    assert_eq!(acknowledged, 100);
    assert_eq!(D::counts(&db).await, (1, 0, 1));
}

pub(crate) async fn a_consumer_killed_between_commit_and_ack_has_had_its_effect_once<D: Service>() {
    let db = D::fresh(TABLES).await;
    let event = message("8e03978e", 17, None);
    let (committed, answered) = oneshot::channel();
    let consumer = D::notifier(&db);
    let delivery = Delivery::new(event.clone());
    let killed = tokio::spawn(async move {
        let verdict = consumer.handle(&delivery).await;
        committed.send(verdict).expect("somebody waits");
        pending::<()>().await; // the acknowledgement never leaves
    });
    assert_eq!(answered.await.expect("a verdict"), Verdict::Ack);
    killed.abort();
    assert!(killed.await.expect_err("it was killed").is_cancelled());
    until_ack(&D::notifier(&db), &event).await;
    assert_eq!(D::counts(&db).await, (1, 0, 1));
}

pub(crate) async fn a_consumer_killed_before_commit_leaves_nothing_and_the_next_one_runs<
    D: Service,
>() {
    let db = D::fresh(TABLES).await;
    let id = format!("killed-{}", std::any::type_name::<D>());
    let event = message(&id, 17, None);
    let key = MessageKey::broker_id().of(&event).expect("a key");
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let consumer = D::notifier(&db);
    let delivery = Delivery::new(event.clone());
    let killed = tokio::spawn(async move { consumer.handle(&delivery).await });
    gate.entered().await;
    killed.abort();
    assert!(killed.await.expect_err("it was killed").is_cancelled());
    drop(gate);
    until_ack(&D::notifier(&db), &event).await;
    assert_eq!(D::counts(&db).await, (1, 0, 1));
}

pub(crate) async fn only_type_and_payload_are_compared<D: Service>() {
    let db = D::fresh(TABLES).await;
    let event = message("8e03978e", 17, None);
    until_ack(&D::notifier(&db), &event).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    // JSON by value: another order of members is the same payload.
    let reordered = Message::new(br#" { "level": 2, "case": 17 } "#.as_slice())
        .with_broker_id("8e03978e")
        .with_event_type("case.escalated");
    until_ack(&D::notifier(&db), &reordered).await;
    let again = event
        .clone()
        .with_header("traceparent", trace)
        .with_header("x-anything", "else")
        .with_topic("another")
        .with_position("MIRROR", 4711);
    let delivery = Delivery::new(again).with_attempts(7);
    let answered = verdict(&D::notifier(&db), &delivery).await;
    assert_eq!(answered, Verdict::Ack);
    assert_eq!(D::counts(&db).await, (1, 0, 1));
}

pub(crate) async fn an_id_used_for_another_type_or_payload_is_a_dead_letter<D: Service>() {
    let db = D::fresh(TABLES).await;
    until_ack(&D::notifier(&db), &message("8e03978e", 17, None)).await;
    let another_type = message("8e03978e", 17, None).with_event_type("case.closed");
    for other in [message("8e03978e", 18, None), another_type] {
        match verdict(&D::notifier(&db), &Delivery::new(other)).await {
            Verdict::DeadLetter { reason, detail } => {
                assert_eq!(reason, DeadLetterReason::Mismatch);
                assert!(detail.contains("already used for a different request to `notify`"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(D::counts(&db).await, (1, 0, 1));
}
