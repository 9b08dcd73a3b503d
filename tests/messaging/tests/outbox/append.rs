//! What an append writes.

use std::collections::BTreeSet;

use idem_messaging::outbox::{Event, Origin, Outbox, OutboxError, limits};
use idem_runtime::{IdempotencyKey, Namespace, Scope};

use crate::subject::{Broker, PENDING, Subject, builder, event};

pub(crate) async fn an_event_is_there_if_and_only_if_its_transaction_was_committed<S: Subject>() {
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    let mut tx = subject.pool().begin().await.expect("a transaction");
    outbox
        .append(&mut tx, event("gone"))
        .await
        .expect("appended");
    tx.rollback().await.expect("rolled back");
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let id = outbox
        .append(&mut tx, event("here"))
        .await
        .expect("appended");
    assert_eq!(subject.in_state(PENDING).await, 0);
    tx.commit().await.expect("committed");
    let found = format!(
        "SELECT count(*) FROM idem_outbox WHERE id = '{id}' AND state = 0 AND attempts = 0"
    );
    assert_eq!(
        (
            subject.number(&found).await,
            subject.in_state(PENDING).await
        ),
        (1, 1)
    );
}

pub(crate) async fn two_events_of_one_call_with_one_label_are_refused_and_the_transaction_goes_on<
    S: Subject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let id = outbox.append(&mut tx, event("a")).await.expect("appended");
    let other = builder("a")
        .payload("text/plain", "another")
        .build()
        .expect("an acceptable event");
    match outbox.append(&mut tx, other).await {
        Err(OutboxError::Duplicate { id: refused }) => assert_eq!(refused, id),
        other => panic!("not refused as a duplicate: {other:?}"),
    }
    outbox
        .append(&mut tx, event("b"))
        .await
        .expect("the transaction goes on");
    tx.commit().await.expect("committed");
    subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    let mut names = broker.names();
    names.sort_unstable();
    assert_eq!(names, ["a", "b"]);
}

pub(crate) async fn scopes_namespaces_operations_keys_and_labels_give_events_of_their_own<
    S: Subject,
>() {
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    let key = |text: &str| text.parse::<IdempotencyKey>().expect("a key");
    let scope = |text: &str| Scope::new(text).expect("a scope");
    let origin = |namespace: &'static str, scope: Scope, text: &str, operation: &str| {
        Origin::new(
            Namespace::from_static(namespace),
            scope,
            &key(text),
            operation,
        )
        .expect("an origin")
    };
    let origins = [
        origin("cases", Scope::GLOBAL, "k", "escalate"),
        origin("other", Scope::GLOBAL, "k", "escalate"),
        origin("cases", scope("tenant-1"), "k", "escalate"),
        origin("cases", scope("tenant-2"), "k", "escalate"),
        origin("cases", Scope::GLOBAL, "K", "escalate"),
        origin("cases", Scope::GLOBAL, "k", "close"),
    ];
    let mut ids = BTreeSet::new();
    for origin in &origins {
        for label in ["one", "two"] {
            let event = Event::builder(origin, label)
                .topic("cases")
                .event_type("t")
                .build();
            ids.insert(
                subject
                    .append(&outbox, event.expect("an acceptable event"))
                    .await,
            );
        }
    }
    assert_eq!((ids.len(), subject.in_state(PENDING).await), (12, 12));
}

pub(crate) async fn an_ordered_append_needs_a_partition_key<S: Subject>() {
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let refused = outbox.append_ordered(&mut tx, event("a")).await;
    assert!(
        matches!(refused, Err(OutboxError::NoPartitionKey)),
        "{refused:?}"
    );
    let keyed = builder("b")
        .partition_key("case-1")
        .build()
        .expect("an acceptable event");
    outbox
        .append_ordered(&mut tx, keyed)
        .await
        .expect("appended");
    tx.commit().await.expect("committed");
    assert_eq!(subject.in_state(PENDING).await, 1);
}

pub(crate) async fn an_event_as_large_as_may_be_is_stored_whole<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let wide = |length| "\u{1f600}".repeat(length);
    let largest = builder("a")
        .topic(wide(limits::TOPIC_MAX))
        .partition_key(wide(limits::PARTITION_KEY_MAX))
        .event_type(wide(limits::ATTRIBUTE_MAX))
        .subject(wide(limits::ATTRIBUTE_MAX))
        .source("s".repeat(limits::ATTRIBUTE_MAX))
        .header("h", "v".repeat(limits::HEADERS_MAX - 1))
        .payload(
            "a".repeat(limits::ATTRIBUTE_MAX),
            vec![7; limits::PAYLOAD_MAX],
        )
        .build()
        .expect("an acceptable event");
    subject.append(&outbox, largest.clone()).await;
    subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(*broker.kept()[0], largest);
}
