//! Results that cannot be stored: the effect has happened, and the body must not run again.

use std::time::Duration;

use idem_runtime::policy::{OnLapse, RecordFailures};
use idem_runtime::record::Status;
use idem_runtime::{Error, ErrorKind, Failure, LeasedOperation, Operation, StoredFailure};
use serde::{Deserialize, Serialize};
use sqlx::error::DatabaseError;

use crate::database::LeaseDatabase;
use crate::desk::{Desk, Then, ada, fresh_key, send_again};

/// Under `retry`, a lapse or a release would run the body again.
const NOTE: LeasedOperation<RecordFailures> = Operation::new("mail", "note")
    .lease(Duration::from_mins(5), OnLapse::Retry)
    .record_failures();

/// The variants overlap: a value of the first is decoded as the second.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Cause {
    Short { code: u32 },
    Long { code: u32, detail: u32 },
}

#[derive(Debug, thiserror::Error, Failure)]
enum NoteError {
    #[error("{0}")]
    #[failure(permanent)]
    Refused(String),
    #[error("{0:?}")]
    #[failure(permanent)]
    Caused(Cause),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Runs a body that ends in `end`. Returns the refusals of the call and of a retry.
async fn refusals<H: LeaseDatabase>(
    database: &H,
    end: impl Fn() -> Result<String, NoteError> + Clone + Send + 'static,
) -> (Error, Error) {
    let key = fresh_key();
    let call = async || {
        let end = end.clone();
        let answer = NOTE
            .run(&database.pool(), &key, &1, move |_| async move { end() })
            .await;
        match answer {
            Err(NoteError::Idempotency(refusal)) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    };
    let first = call().await;
    assert_eq!(
        database.status(&key).await,
        Some(Status::Unknown),
        "{first:?}"
    );
    (first, call().await)
}

pub(crate) async fn a_result_that_cannot_be_kept_is_not_run_again<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Unstorable]), fresh_key());
    let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let refusal = sent.expect_err("it cannot be kept").refusal();
    assert!(matches!(refusal, Error::NotStorable { .. }), "{refusal:?}");
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
    let reported = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert_eq!(
        reported.expect_err("nobody knows").refusal().kind(),
        ErrorKind::OutcomeUnknown
    );
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn a_result_or_failure_that_the_database_refuses_is_not_run_again<
    H: LeaseDatabase,
>() {
    let database = H::open().await;
    database.refuse_long_payloads().await;
    let long = || "x".repeat(1000);
    for (first, again) in [
        refusals(&database, move || Ok(long())).await,
        refusals(&database, move || Err(NoteError::Refused(long()))).await,
    ] {
        assert!(matches!(first, Error::Database(_)), "{first:?}");
        assert_eq!(again.kind(), ErrorKind::OutcomeUnknown, "{again:?}");
    }
}

pub(crate) async fn a_failure_that_would_be_built_again_as_another_is_not_run_again<
    H: LeaseDatabase,
>() {
    let database = H::open().await;
    let long = || Err(NoteError::Caused(Cause::Long { code: 1, detail: 2 }));
    let (first, again) = refusals(&database, long).await;
    assert!(matches!(first, Error::NotStorable { .. }), "{first:?}");
    assert_eq!(again.kind(), ErrorKind::OutcomeUnknown, "{again:?}");
}

/// No rival is met: the key has no record, and the next one would be refused alike.
pub(crate) async fn a_duplicate_that_a_trigger_meets_at_a_claim_is_the_databases_error<
    H: LeaseDatabase,
>() {
    let (database, desk) = (H::open().await, Desk::new(&[]));
    database.refuse_second_record().await;
    let (first, key) = (fresh_key(), fresh_key());
    let sent = send_again(&database.pool(), &first, ada(), desk.clone()).await;
    sent.expect("the trigger's first row");
    for _ in 0..2 {
        let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
        let refusal = sent.expect_err("the trigger's second row").refusal();
        let Error::Database(error) = &refusal else {
            panic!("{refusal:?}");
        };
        assert!(
            error
                .as_sqlx()
                .as_database_error()
                .is_some_and(DatabaseError::is_unique_violation)
        );
        assert!(!refusal.is_retryable());
        assert_eq!(database.status(&key).await, None);
    }
    assert_eq!(desk.count(), 1);
    let again = send_again(&database.pool(), &first, ada(), desk).await;
    assert!(again.expect("recorded").replayed());
}
