//! The first caller gets what every retry gets.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{IdempotencyKey, LeasedOperation, Namespace, Operation, Replayable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Transaction;

use crate::fixture::{Fixture, write};
use crate::secrets::key;
use crate::stored::CallError;

const REPORT: Operation = Operation::new("values", "tell");
const REPORT_LEASED: LeasedOperation = REPORT.lease(Duration::from_mins(5), OnLapse::Unknown);

/// JSON loses all of it: `null` is read as `None`, and a skipped field as its default.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::option_option, reason = "what is tested")]
struct Reported {
    unit: Option<()>,
    null: Option<Value>,
    twice: Option<Option<u8>>,
    each: Vec<Option<()>>,
    #[serde(skip)]
    note: String,
    zero: f64,
}

fn reported() -> Reported {
    Reported {
        unit: Some(()),
        null: Some(Value::Null),
        twice: Some(None),
        each: vec![Some(()), None],
        note: "not for the record".to_owned(),
        zero: -0.0,
    }
}

/// The first answer equals the second, with the same losses of JSON.
fn expect_the_same(first: &Replayable<Reported>, again: &Replayable<Reported>) {
    assert!(!first.replayed() && again.replayed());
    assert_eq!(**first, **again);
    assert_eq!(first.zero.to_bits(), again.zero.to_bits());
    assert_ne!(**first, reported());
    assert_eq!((first.unit, &*first.note), (None, ""));
}

async fn body<P: Fixture>(tx: &mut Transaction<'_, P::Db>) -> Result<Reported, CallError> {
    write::<P>(tx, "told").await?;
    Ok(reported())
}

pub(crate) async fn what_json_forgets_is_forgotten_for_the_first_caller_too<P: Fixture>() {
    let (fixture, key) = (P::open().await, key());
    let report = async || {
        let answer = REPORT.run(&fixture.pool(), &key, &1, body::<P>).await;
        answer.expect("told")
    };
    let first = report().await;
    expect_the_same(&first, &report().await);
    assert_eq!(fixture.counts().await, (1, 1));
}

pub(crate) async fn what_json_forgets_is_forgotten_in_a_callers_transaction_too<P: Fixture>() {
    let (fixture, key) = (P::open().await, key());
    let pool = fixture.pool();
    let mut tx = pool.begin().await.expect("a transaction");
    let first = REPORT.run(&mut tx, &key, &1, body::<P>).await;
    let inside = REPORT
        .run(&mut tx, &key, &1, body::<P>)
        .await
        .expect("told");
    tx.commit().await.expect("committed");
    let first = first.expect("told");
    expect_the_same(&first, &inside);
    let later = REPORT.run(&pool, &key, &1, body::<P>).await.expect("told");
    expect_the_same(&first, &later);
    assert_eq!(fixture.counts().await, (1, 1));
}

pub(crate) async fn what_json_forgets_is_forgotten_for_the_first_leased_caller_too<P: Fixture>() {
    let (fixture, key) = (P::open().await, key());
    let report = async || {
        let body = |_| async { Ok::<_, CallError>(reported()) };
        let answer = REPORT_LEASED.run(&fixture.pool(), &key, &1, body).await;
        answer.expect("told")
    };
    let first = report().await;
    expect_the_same(&first, &report().await);
    assert_eq!(fixture.counts().await, (0, 1));
}

pub(crate) fn store<Res>() -> Store<i64, Res> {
    Store::new(Namespace::from_static("values")).record_request()
}

async fn replayed<P: Fixture>(fixture: &P, key: &IdempotencyKey) -> Reported {
    let (store, pool) = (store::<Reported>(), fixture.pool());
    let mut conn = pool.acquire().await.expect("a connection");
    match store.in_connection(&mut *conn).begin(key, "tell", &1).await {
        Ok(Outcome::PriorResult { value }) => value,
        other => panic!("no replay: {other:?}"),
    }
}

pub(crate) async fn a_store_returns_what_it_replays<P: Fixture>() {
    let (fixture, key, store) = (P::open().await, key(), store::<Reported>());
    let pool = fixture.pool();
    let mut tx = pool.begin().await.expect("a transaction");
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    let Ok(Outcome::Fresh(claim)) = bound.begin(&key, "tell", &1).await else {
        panic!("not fresh");
    };
    let first = bound.commit(claim, &reported()).await.expect("recorded");
    tx.commit().await.expect("committed");
    assert_ne!(first, reported());
    assert_eq!(first, replayed(&fixture, &key).await);

    let leased = key.child("leased").expect("a label");
    let mut conn = pool.acquire().await.expect("a connection");
    let mut bound = store.in_connection(&mut *conn);
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
    let Ok(Outcome::Fresh(lease)) = bound.begin_leased(&leased, "tell", &1, lease).await else {
        panic!("no lease");
    };
    let first = bound.complete(&lease, &reported()).await.expect("recorded");
    drop(conn);
    assert_ne!(first, reported());
    assert_eq!(first, replayed(&fixture, &leased).await);
}
