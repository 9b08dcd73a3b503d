//! What the laws call.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::codec::{Codec, Key, KeyId, Keyring, Protection};
use idem_runtime::policy::RecordFailures;
use idem_runtime::store::Store;
use idem_runtime::{
    Error, Failure, IdempotencyKey, Namespace, Operation, Replayable, Scope, StoredFailure,
};
use serde::{Deserialize, Serialize};

use crate::subject::Subject;

/// A text that must be nowhere in clear: of the request.
pub(crate) const CARD: &str = "card 4111 1111 1111 1111";
/// The same, of the result.
pub(crate) const RECEIPT: &str = "receipt of Ada Lovelace";
/// The same, of the failure.
pub(crate) const DECLINED: &str = "declined: stolen";
/// The same, of the scope.
pub(crate) const TENANT: &str = "tenant-of-ada";
/// The same, of the key.
pub(crate) const ORDER: &str = "order-of-ada";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) card: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) text: String,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum PayError {
    #[error("{reason}")]
    #[failure(permanent)]
    Declined { reason: String },
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

impl PayError {
    #[track_caller]
    pub(crate) fn refusal(self) -> Error {
        match self {
            Self::Idempotency(error) => error,
            other => panic!("no refusal: {other:?}"),
        }
    }
}

pub(crate) fn charge() -> Charge {
    Charge {
        card: CARD.to_owned(),
    }
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        text: RECEIPT.to_owned(),
    }
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    let scope = Scope::new(TENANT).expect("a scope");
    text.parse::<IdempotencyKey>().expect("a key").scoped(scope)
}

/// Returns a ring that writes under a key with this id.
pub(crate) fn ring(id: u8) -> Keyring {
    Keyring::new(KeyId::new(id.into()), &secret(id))
}

/// Returns the key with this id.
pub(crate) fn secret(id: u8) -> Key {
    Key::from_bytes([id; 32])
}

/// Returns a codec with nothing installed.
pub(crate) fn empty() -> &'static Codec {
    Box::leak(Box::new(Codec::new("TEST")))
}

pub(crate) fn codec(protection: Protection) -> &'static Codec {
    let codec = empty();
    codec.install(protection).expect("the first");
    codec
}

pub(crate) fn encrypting() -> &'static Codec {
    codec(Protection::encrypted(ring(1)))
}

const PAY: Operation<RecordFailures> = Operation::new("payments", "pay").record_failures();

pub(crate) fn pay(codec: &'static Codec) -> Operation<RecordFailures> {
    PAY.codec(codec)
}

pub(crate) fn in_clear() -> Operation<RecordFailures> {
    PAY
}

/// How often a body has run.
#[derive(Default)]
pub(crate) struct Runs(AtomicU32);

impl Runs {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn one_more(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Calls the operation with a request; its body returns the receipt.
pub(crate) async fn call<S: Subject>(
    subject: &S,
    operation: Operation<RecordFailures>,
    key: &IdempotencyKey,
    request: &Charge,
    runs: &Runs,
) -> Result<Replayable<Receipt>, PayError> {
    let body = async |_: &mut sqlx::Transaction<'_, S::Db>| {
        runs.one_more();
        Ok::<_, PayError>(receipt())
    };
    operation.run(subject.pool(), key, request, body).await
}

/// Calls the operation, and expects the first run.
pub(crate) async fn first<S: Subject>(
    subject: &S,
    operation: Operation<RecordFailures>,
    key: &IdempotencyKey,
) {
    let first = call(subject, operation, key, &charge(), &Runs::default()).await;
    let first = first.expect("executed");
    assert!(!first.replayed() && *first == receipt());
}

/// Calls the operation, and expects a replay.
pub(crate) async fn replays<S: Subject>(
    subject: &S,
    operation: Operation<RecordFailures>,
    key: &IdempotencyKey,
) {
    let again = call(subject, operation, key, &charge(), &Runs::default()).await;
    let again = again.expect("replayed");
    assert!(again.replayed() && *again == receipt());
}

/// Calls the operation, and returns its refusal; the body must not run.
pub(crate) async fn refused<S: Subject>(
    subject: &S,
    operation: Operation<RecordFailures>,
    key: &IdempotencyKey,
) -> Error {
    let runs = Runs::default();
    let refused = call(subject, operation, key, &charge(), &runs).await;
    let refused = refused.map(|done| done.replayed());
    assert_eq!(runs.count(), 0, "{refused:?}");
    refused.expect_err("it is refused").refusal()
}

/// Calls the operation; its body fails for good.
pub(crate) async fn decline<S: Subject>(
    subject: &S,
    operation: Operation<RecordFailures>,
    key: &IdempotencyKey,
) -> PayError {
    let body = async |_: &mut sqlx::Transaction<'_, S::Db>| {
        Err::<Receipt, _>(PayError::Declined {
            reason: DECLINED.to_owned(),
        })
    };
    let done = operation.run(subject.pool(), key, &charge(), body).await;
    done.map(|done| done.replayed()).expect_err("it fails")
}

pub(crate) fn store(codec: Option<&'static Codec>) -> Store<Charge, Receipt> {
    let store = Store::new(Namespace::from_static("payments"));
    match codec {
        Some(codec) => store.codec(codec),
        None => store,
    }
}
