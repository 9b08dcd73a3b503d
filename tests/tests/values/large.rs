//! Results and failures that are too large to record, and large ones that are not.

use std::time::Duration;

use idem_runtime::http::Problem;
use idem_runtime::policy::{OnLapse, RecordFailures};
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{
    Error, ErrorKind, IdempotencyKey, LeasedOperation, Namespace, Operation, StoredFailure,
};
use serde_json::{Value, json};
use sqlx::Transaction;

use crate::fixture::{Fixture, write};
use crate::stored::CallError;

const LIMIT: usize = 4096;
/// More than PostgreSQL's fused path takes, and less than MariaDB's smallest `max_allowed_packet` as hex.
const LARGE: usize = 3 * 1024 * 1024;

const SHORT: Operation<RecordFailures> = Operation::new("values", "short")
    .record_failures()
    .result_limit(LIMIT);
const LONG: Operation<RecordFailures> = Operation::new("values", "long")
    .record_failures()
    .result_limit(3 * LARGE);
const LEASED: LeasedOperation<RecordFailures> = SHORT.lease(Duration::from_mins(5), OnLapse::Retry);

/// One of several keys.
fn key(number: u8) -> IdempotencyKey {
    let key = IdempotencyKey::parse(Some(&format!("large-{number}")));
    key.expect("valid").expect("given").global()
}

/// A text whose JSON has this many bytes.
fn text(bytes: usize) -> String {
    "x".repeat(bytes - 2)
}

/// Asserts that the error names both sizes, and does not invite to a retry.
fn expect_too_large(refusal: &Error, kind: &str, bytes: Option<usize>) {
    let Error::TooLargeToRecord {
        what, size, limit, ..
    } = refusal
    else {
        panic!("{refusal:?}");
    };
    assert_eq!((*what, *limit), (kind, LIMIT));
    assert!(bytes.is_none_or(|bytes| *size == bytes) && *size > LIMIT);
    assert!(!refusal.is_retryable());
    assert_eq!((refusal.kind(), refusal.status()), (ErrorKind::Misuse, 500));
    let problem = Problem::of(refusal);
    assert_eq!(
        (&*problem.code, problem.status, problem.retry_after),
        ("result-too-large", 500, None)
    );
    let said = refusal.to_string();
    assert!(
        said.contains(&size.to_string()) && said.contains(&LIMIT.to_string()),
        "{said}"
    );
}

async fn give<P: Fixture>(
    tx: &mut Transaction<'_, P::Db>,
    bytes: usize,
) -> Result<String, CallError> {
    write::<P>(tx, "put").await?;
    Ok(text(bytes))
}

async fn fail<P: Fixture>(
    tx: &mut Transaction<'_, P::Db>,
    bytes: usize,
) -> Result<String, CallError> {
    write::<P>(tx, "failed").await?;
    Err(CallError::Said(text(bytes)))
}

pub(crate) async fn a_result_over_the_limit_is_refused_before_commit_and_a_retry_runs_again<
    P: Fixture,
>() {
    let (fixture, key) = (P::open().await, key(0));
    let pool = fixture.pool();
    for _ in 0..2 {
        let refused = SHORT.run(&pool, &key, &1, async |tx| give::<P>(tx, LIMIT + 1).await);
        let refusal = refused.await.expect_err("it is too large").refusal();
        expect_too_large(&refusal, "result", Some(LIMIT + 1));
        assert_eq!(fixture.counts().await, (0, 0));
    }
    for replayed in [false, true] {
        let kept = SHORT.run(&pool, &key, &1, async |tx| give::<P>(tx, LIMIT).await);
        let kept = kept.await.expect("it is not too large");
        assert_eq!((kept.replayed(), kept.len()), (replayed, LIMIT - 2));
        assert_eq!(fixture.counts().await, (1, 1));
    }
}

pub(crate) async fn a_failure_over_the_limit_is_refused_and_not_recorded<P: Fixture>() {
    let (fixture, key) = (P::open().await, key(0));
    let pool = fixture.pool();
    let refused = SHORT.run(&pool, &key, &1, async |tx| fail::<P>(tx, LIMIT).await);
    let refusal = refused.await.expect_err("it is too large").refusal();
    expect_too_large(&refusal, "failure", None);
    assert_eq!(fixture.counts().await, (0, 0));
    let paid = SHORT.run(&pool, &key, &1, async |tx| give::<P>(tx, 10).await);
    assert!(!paid.await.expect("the key is fresh").replayed());
}

pub(crate) async fn in_a_callers_transaction_only_the_call_is_rolled_back<P: Fixture>() {
    let (fixture, key) = (P::open().await, key(0));
    let mut tx = fixture.pool().begin().await.expect("begun");
    write::<P>(&mut tx, "of the caller").await.expect("written");
    let refused = SHORT.run(&mut tx, &key, &1, async |tx| give::<P>(tx, LIMIT + 1).await);
    let refusal = refused.await.expect_err("it is too large").refusal();
    expect_too_large(&refusal, "result", Some(LIMIT + 1));
    tx.commit().await.expect("committed");
    assert_eq!(fixture.counts().await, (1, 0));
}

/// The effect has happened: no retry repeats it, under either `on_lapse`.
pub(crate) async fn a_leased_result_or_failure_over_the_limit_leaves_the_outcome_unknown<
    P: Fixture,
>() {
    let fixture = P::open().await;
    let pool = fixture.pool();
    for (number, kind, result) in [
        (0, "result", Ok(text(LIMIT + 1))),
        (1, "failure", Err(text(LIMIT + 1))),
    ] {
        let key = key(number);
        let refused = LEASED.run(&pool, &key, &1, async move |_| {
            result.map_err(CallError::Said)
        });
        let refusal = refused.await.expect_err("it is too large").refusal();
        expect_too_large(&refusal, kind, None);
        let again = LEASED.run(&pool, &key, &1, async |_| Ok::<_, CallError>(text(10)));
        let refusal = again.await.expect_err("the body does not run").refusal();
        assert!(
            matches!(refusal, Error::OutcomeUnknown { .. }),
            "{refusal:?}"
        );
    }
}

pub(crate) async fn the_plain_store_records_nothing_over_its_limit<P: Fixture>() {
    let fixture = P::open().await;
    let namespace = Namespace::new("values").expect("a namespace");
    let store = Store::<Value, String>::new(namespace).result_limit(LIMIT);
    let too_long = StoredFailure::new("TooLong", text(LIMIT));
    for kind in ["result", "failure"] {
        let mut tx = fixture.pool().begin().await.expect("begun");
        let mut bound = store.in_transaction(&mut *tx).expect("it is open");
        let outcome = bound.begin(&key(0), "put", &json!(1)).await;
        let Ok(Outcome::Fresh(claim)) = outcome else {
            panic!("the key is fresh");
        };
        let refused = if kind == "result" {
            bound.commit(claim, &text(LIMIT + 1)).await.map(drop)
        } else {
            bound.fail_permanent(claim, &too_long).await
        };
        expect_too_large(&refused.expect_err("it is too large"), kind, None);
        tx.rollback().await.expect("rolled back");
        assert_eq!(fixture.counts().await, (0, 0));
    }
}

pub(crate) async fn a_large_result_and_a_large_failure_come_back_under_a_raised_limit<
    P: Fixture,
>() {
    let fixture = P::open().await;
    let pool = fixture.pool();
    let (give_key, fail_key) = (key(0), key(1));
    for replayed in [false, true] {
        let given = LONG.run(&pool, &give_key, &1, async |tx| give::<P>(tx, LARGE).await);
        let given = given.await.expect("recorded");
        assert_eq!((given.replayed(), given.len()), (replayed, LARGE - 2));
        let failed = LONG.run(&pool, &fail_key, &1, async |tx| fail::<P>(tx, LARGE).await);
        match failed.await.expect_err("the failure") {
            CallError::Said(said) => assert_eq!(said.len(), LARGE - 2),
            other => panic!("{other:?}"),
        }
        // The failed body's effect is rolled back.
        assert_eq!(fixture.counts().await, (1, 2));
    }
}

pub(crate) async fn a_large_result_is_not_recorded_if_the_body_has_ended_its_transaction<
    P: Fixture,
>() {
    let (fixture, key) = (P::open().await, key(0));
    let pool = fixture.pool();
    let refused = LONG.run(&pool, &key, &1, async |tx| {
        let large = give::<P>(tx, LARGE).await;
        P::execute(tx, "ROLLBACK").await?;
        large
    });
    let refusal = refused.await.expect_err("it has ended").refusal();
    assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
    assert_eq!(fixture.counts().await, (0, 0));
}

/// The connection is as good as before.
pub(crate) async fn a_call_after_a_large_one_on_the_same_connection_is_recorded<P: Fixture>() {
    let fixture = P::open().await;
    let mut conn = fixture.pool().acquire().await.expect("a connection");
    for (number, bytes) in [(0, 10), (1, LARGE), (2, 10)] {
        let key = key(number);
        let given = LONG.run(&mut conn, &key, &1, async |tx| give::<P>(tx, bytes).await);
        assert!(!given.await.expect("recorded").replayed());
    }
    assert_eq!(fixture.counts().await, (3, 3));
}
