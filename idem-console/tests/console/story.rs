//! Records and events as handlers leave them behind.

use std::time::Duration;

use idem_messaging::outbox::{
    Event, EventId, Origin, Outbox, OutboxEvent, PublishError, Publisher, Relay,
};
use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{Outcome, RawStore, StoreLease};
use idem_runtime::{IdempotencyKey, Namespace, Operation, Scope};
use serde_json::{Value, json};

use crate::subject::Subject;

const ESCALATE: Operation = Operation::new("cases", "escalate");

fn store() -> RawStore {
    RawStore::new(Namespace::from_static("payments"))
}

pub(crate) fn key(scope: &str, text: &str) -> IdempotencyKey {
    let scope = Scope::new(scope).expect("a scope");
    text.parse::<IdempotencyKey>().expect("a key").scoped(scope)
}

fn request() -> Value {
    json!({ "cmd": { "account": 7, "secret": "tangerine" } })
}

/// Claims a lease that nobody holds, and leaves it.
pub(crate) async fn lease<S: Subject>(subject: &S, key: &IdempotencyKey, operation: &str) {
    drop(claim(subject, key, operation).await);
}

async fn claim<S: Subject>(subject: &S, key: &IdempotencyKey, operation: &str) -> StoreLease {
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("a length");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    let claimed = bound.begin_leased(key, operation, &request(), lease).await;
    match claimed {
        Ok(Outcome::Fresh(lease)) => lease,
        other => panic!("no lease: {other:?}"),
    }
}

/// Leaves an unknown outcome, as an attempt does that cannot know.
pub(crate) async fn unknown<S: Subject>(subject: &S, key: &IdempotencyKey) {
    let lease = claim(subject, key, "charge").await;
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    bound.leave_unknown(&lease).await.expect("left unknown");
}

/// Ends a lease with a result that is a secret.
pub(crate) async fn completed<S: Subject>(subject: &S, key: &IdempotencyKey) {
    let lease = claim(subject, key, "charge").await;
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    let result = json!({ "id": 1, "secret": "tangerine" });
    bound.complete(&lease, &result).await.expect("completed");
}

/// Returns the number of records of a status.
pub(crate) async fn count<S: Subject>(subject: &S, status: i16) -> i64 {
    let sql = format!("SELECT count(*) FROM idem_record WHERE status = {status}");
    subject.number(&sql).await
}

/// Returns the number of rows of the audit table under a condition.
pub(crate) async fn audited<S: Subject>(subject: &S, condition: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM idem_audit WHERE {condition}");
    subject.number(&sql).await
}

/// A broker that keeps nothing of some topics.
struct Broker(&'static str, String);

impl Publisher for Broker {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        if event.topic() == self.0 {
            Err(PublishError::permanent(self.1.clone()))
        } else {
            Ok(())
        }
    }
}

/// Appends an event whose payload is a secret.
pub(crate) async fn append<S: Subject>(subject: &S, topic: &str, name: &str) -> EventId {
    let key = name.parse::<IdempotencyKey>().expect("a key").global();
    let origin = Origin::of(ESCALATE, &key).expect("an origin");
    let event = Event::builder(&origin, "escalated")
        .topic(topic)
        .event_type("com.example.case.escalated.v1")
        .payload("text/plain", "tangerine")
        .build()
        .expect("an event");
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let id = Outbox::new().append(&mut tx, event).await;
    tx.commit().await.expect("committed");
    id.expect("appended")
}

/// Runs a relay until nothing is due, and returns how many events were published and how many set aside, with this error.
pub(crate) async fn sweep<S: Subject>(
    subject: &S,
    refused: &'static str,
    error: &str,
) -> (u64, u64) {
    let broker = Broker(refused, error.to_owned());
    let relay = Relay::new(subject.pool().clone(), &Outbox::new(), broker)
        .publish_timeout(Duration::from_mins(10))
        .lease(Duration::from_hours(1));
    let swept = relay.sweep().await.expect("swept");
    (swept.published, swept.dead)
}
