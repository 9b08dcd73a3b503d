//! Records as handlers leave them behind.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{Outcome, RawStore, StoreLease};
use idem_runtime::{Error, IdempotencyKey, Namespace, Scope};
use serde_json::{Value, json};

use crate::subject::Subject;

/// The name of a record on the command line.
pub(crate) const ORDER: [&str; 4] = ["payments", "order-17", "--scope", "customer-42"];

pub(crate) fn store() -> RawStore {
    RawStore::new(Namespace::from_static("payments"))
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    let scope = Scope::new("customer-42").expect("a scope");
    text.parse::<IdempotencyKey>().expect("a key").scoped(scope)
}

pub(crate) fn request() -> Value {
    json!({ "cmd": { "account": 7, "cents": 1_250 } })
}

/// Claims a lease, or says why not.
pub(crate) async fn begin<S: Subject>(
    subject: &S,
    name: &str,
    on_lapse: OnLapse,
) -> Result<Outcome<StoreLease, Value, Value>, Error> {
    let lease = Lease::new(Duration::from_mins(5), on_lapse).expect("a length");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    bound
        .begin_leased(&key(name), "charge", &request(), lease)
        .await
}

/// Claims a lease that nobody holds.
pub(crate) async fn lease<S: Subject>(subject: &S, name: &str, on_lapse: OnLapse) -> StoreLease {
    match begin(subject, name, on_lapse).await {
        Ok(Outcome::Fresh(lease)) => lease,
        other => panic!("no lease: {other:?}"),
    }
}

/// Leaves an unknown outcome, as an attempt does that cannot know.
pub(crate) async fn unknown<S: Subject>(subject: &S, name: &str) -> StoreLease {
    let lease = lease(subject, name, OnLapse::Unknown).await;
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    bound.leave_unknown(&lease).await.expect("left unknown");
    lease
}

/// Ends a lease with a result, or says why not.
pub(crate) async fn complete<S: Subject>(
    subject: &S,
    lease: &StoreLease,
    result: &Value,
) -> Result<(), Error> {
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    bound.complete(lease, result).await.map(drop)
}

/// Records a result in a transaction, as an atomic handler does.
pub(crate) async fn completed<S: Subject>(subject: &S, name: &str) {
    completed_in(subject, name, "customer-42").await;
}

/// Records a result in another scope.
pub(crate) async fn completed_in<S: Subject>(subject: &S, name: &str, scope: &str) {
    let scope = Scope::new(scope).expect("a scope");
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let store = store();
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    let key = key(name).scoped(scope);
    let claim = match bound.begin(&key, "pay", &request()).await {
        Ok(Outcome::Fresh(claim)) => claim,
        other => panic!("not fresh: {other:?}"),
    };
    let result = json!({ "id": 1, "secret": "tangerine" });
    bound.commit(claim, &result).await.expect("recorded");
    tx.commit().await.expect("committed");
}

/// Returns the number of records of a status.
pub(crate) async fn count<S: Subject>(subject: &S, status: i16) -> i64 {
    let sql = format!("SELECT count(*) FROM idem_record WHERE status = {status}");
    subject.number(&sql).await
}

/// Returns the number of rows of the audit table.
pub(crate) async fn audited<S: Subject>(subject: &S) -> i64 {
    subject.number("SELECT count(*) FROM idem_audit").await
}
