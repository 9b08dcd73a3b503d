//! A permanent failure is rebuilt as the same failure, or is not recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use idem_runtime::policy::{OnLapse, RecordFailures};
use idem_runtime::{Error, Failure, IdempotencyKey, LeasedOperation, Operation, StoredFailure};
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use crate::fixture::{Fixture, write};
use crate::secrets::key;

const TRY: Operation<RecordFailures> = Operation::new("values", "try").record_failures();
const TRY_LEASED: LeasedOperation<RecordFailures> =
    TRY.lease(Duration::from_mins(5), OnLapse::Unknown);

/// Its JSON equals that of another variant.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Overlapping {
    Partly { id: u8 },
    Wholly { id: u8, rest: u8 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Secretive {
    id: u8,
    #[serde(skip_serializing)]
    token: String,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum CallError {
    #[error("short of {wei}")]
    #[failure(permanent)]
    Short { wei: u128 },
    #[error("owes {0}")]
    #[failure(permanent)]
    Owes(i128),
    #[error("any of these")]
    #[failure(permanent)]
    Amounts { of: BTreeMap<String, Vec<u128>> },
    #[error("told {0:?}")]
    #[failure(permanent)]
    Reported(Option<()>),
    #[error("a rate of {0}")]
    #[failure(permanent)]
    Rate(f64),
    #[error("{0:?} stands in the way")]
    #[failure(permanent)]
    Obstacle(Overlapping),
    #[error("a token")]
    #[failure(permanent)]
    Token(Secretive),
    #[error("a pair")]
    #[failure(permanent)]
    Pairs { of: BTreeMap<(u8, u8), u8> },
    #[error("{0}")]
    #[failure(permanent)]
    Said(String),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

impl CallError {
    /// Returns the library's refusal; panics for any other error.
    pub(crate) fn refusal(self) -> Error {
        match self {
            Self::Idempotency(error) => error,
            other => panic!("not a refusal of the library: {other:?}"),
        }
    }
}

const BEYOND: u128 = u64::MAX as u128 + 1;

fn large() -> [CallError; 7] {
    let amounts = vec![0, BEYOND, u128::MAX];
    [
        CallError::Short { wei: BEYOND },
        CallError::Short { wei: u128::MAX },
        CallError::Short { wei: 7 },
        CallError::Owes(i128::MIN),
        CallError::Owes(i128::from(i64::MIN) - 1),
        CallError::Amounts {
            of: BTreeMap::from([("wei".to_owned(), amounts)]),
        },
        // JSON loses this field; the first caller gets the error without it as well.
        CallError::Reported(Some(())),
    ]
}

fn unfit() -> [CallError; 5] {
    let token = "t".to_owned();
    [
        CallError::Rate(f64::NAN),
        CallError::Rate(f64::INFINITY),
        CallError::Obstacle(Overlapping::Wholly { id: 1, rest: 2 }),
        CallError::Token(Secretive { id: 1, token }),
        CallError::Pairs {
            of: BTreeMap::from([((1, 2), 3)]),
        },
    ]
}

async fn fail<P: Fixture>(fixture: &P, key: &IdempotencyKey, failure: CallError) -> CallError {
    let body = async |tx: &mut Transaction<'_, P::Db>| {
        write::<P>(tx, "in vain").await?;
        Err::<(), _>(failure)
    };
    let failed = TRY.run(&fixture.pool(), key, &1, body).await;
    failed.expect_err("the body fails")
}

async fn fail_leased<P: Fixture>(
    fixture: &P,
    key: &IdempotencyKey,
    failure: CallError,
) -> CallError {
    let body = move |_| async move { Err::<(), _>(failure) };
    let pool = fixture.pool();
    let failed = TRY_LEASED.run(&pool, key, &1, body).await;
    failed.expect_err("the body fails")
}

fn expect_the_same(sent: &str, first: &CallError, again: &CallError) {
    assert!(!matches!(first, CallError::Idempotency(_)), "{first:?}");
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    if !matches!(first, CallError::Reported(_)) {
        assert_eq!(sent, format!("{first:?}"));
    }
}

pub(crate) async fn a_failure_of_128_bits_comes_back_as_itself<P: Fixture>() {
    let (fixture, pool_key) = (P::open().await, key());
    for (n, (one, same)) in large().into_iter().zip(large()).enumerate() {
        let key = pool_key.child(&n.to_string()).expect("a label");
        let sent = format!("{one:?}");
        let first = fail(&fixture, &key, one).await;
        expect_the_same(&sent, &first, &fail(&fixture, &key, same).await);
        // A retry whose body would fail differently gets the recorded failure as well.
        let other = CallError::Said("other".to_owned());
        expect_the_same(&sent, &first, &fail(&fixture, &key, other).await);
    }
    assert_eq!(fixture.counts().await, (0, 7));
}

pub(crate) async fn a_leased_failure_of_128_bits_comes_back_as_itself<P: Fixture>() {
    let (fixture, pool_key) = (P::open().await, key());
    for (n, one) in large().into_iter().enumerate() {
        let key = pool_key.child(&n.to_string()).expect("a label");
        let sent = format!("{one:?}");
        let first = fail_leased(&fixture, &key, one).await;
        let other = CallError::Said("other".to_owned());
        expect_the_same(&sent, &first, &fail_leased(&fixture, &key, other).await);
    }
    assert_eq!(fixture.counts().await, (0, 7));
}

pub(crate) async fn a_failure_that_cannot_come_back_as_itself_is_refused_and_nothing_is_recorded<
    P: Fixture,
>() {
    let (fixture, key) = (P::open().await, key());
    for failure in unfit() {
        let sent = format!("{failure:?}");
        let refusal = fail(&fixture, &key, failure).await.refusal();
        assert!(
            matches!(refusal, Error::NotStorable { .. }),
            "{sent}: {refusal:?}"
        );
        assert_eq!(fixture.counts().await, (0, 0), "{sent}");
    }
    // The key is usable.
    let short = fail(&fixture, &key, CallError::Short { wei: 1 }).await;
    assert!(matches!(short, CallError::Short { wei: 1 }), "{short:?}");
    assert_eq!(fixture.counts().await, (0, 1));
}
