//! The operations that a call needs of a handler's result and error types, resolved once to
//! function pointers.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::values::error::Error;
use crate::values::failure::{Failure, StoredFailure};
use crate::values::payload::versioned::Format;
use crate::values::payload::{self, PayloadKind};
use crate::values::record::Record;
use crate::values::replay::Replayable;
use crate::values::version::Versions;

/// A result that can be recorded. Implemented for every type that is `Serialize`.
#[diagnostic::on_unimplemented(
    message = "the result `{Self}` cannot be recorded: it does not implement `Serialize`",
    label = "add `#[derive(serde::Serialize)]`"
)]
pub trait RecordWrite {
    #[doc(hidden)]
    fn encode(&self, operation: &str) -> Result<Vec<u8>, Error>;
}

impl<T: Serialize> RecordWrite for T {
    fn encode(&self, operation: &str) -> Result<Vec<u8>, Error> {
        payload::write(self, operation)
    }
}

/// A result that can be replayed. Implemented for every type that is `DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "the result `{Self}` cannot be replayed: it does not implement `DeserializeOwned`",
    label = "add `#[derive(serde::Deserialize)]`",
    note = "a recorded result outlives its request: it must own what it holds"
)]
pub trait RecordRead: Sized {
    #[doc(hidden)]
    fn decode(operation: &str, bytes: &[u8]) -> Result<Self, Error>;
}

impl<T: DeserializeOwned> RecordRead for T {
    fn decode(operation: &str, bytes: &[u8]) -> Result<Self, Error> {
        payload::decode(operation, bytes)
    }
}

/// An error type that can represent a refusal of the library. Implemented for every type that is
/// `From<idem_runtime::Error>`.
#[diagnostic::on_unimplemented(
    message = "the error type `{Self}` cannot carry a refusal of the library: `From<idem_runtime::Error>` is missing",
    label = "with thiserror, add a variant: `#[error(transparent)] Idempotency(#[from] idem_runtime::Error)`"
)]
pub trait HandlerError {
    #[doc(hidden)]
    fn lift(error: Error) -> Self;
}

impl<E: From<Error>> HandlerError for E {
    fn lift(error: Error) -> Self {
        Self::from(error)
    }
}

/// The return type of a handler: a `Result`, or an alias of one.
#[diagnostic::on_unimplemented(
    message = "an idempotent handler must return a `Result`, and `{Self}` is not one",
    label = "write `Result<T, E>` here, or an alias of it"
)]
pub trait HandlerResult {
    /// The result that is recorded.
    type Ok;
    /// The error type, which also represents refusals.
    type Err;
    /// The return type for the handler's callers.
    type Replayed;
}

impl<T, E> HandlerResult for Result<T, E> {
    type Ok = T;
    type Err = E;
    type Replayed = Result<Replayable<T>, E>;
}

/// The functions of `T` and `E` that the library calls.
pub struct Contract<T, E> {
    format: Format<T>,
    lift: Lifts<E>,
    failures: Option<FailureCodec<E>>,
}

// By hand: a derive would require `T: Clone` and `E: Clone`.
impl<T, E> Clone for Contract<T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, E> Copy for Contract<T, E> {}

/// Encodes a result.
pub(crate) type Writes<T> = fn(&T, &str) -> Result<Vec<u8>, Error>;
/// Decodes a result.
pub(crate) type Reads<T> = fn(&str, &[u8]) -> Result<T, Error>;
/// Converts the library's error.
pub(crate) type Lifts<E> = fn(Error) -> E;

/// The conversions of a permanent failure, and the check that it is rebuilt as the same failure.
pub struct FailureCodec<E> {
    to_failure: fn(&E) -> Option<StoredFailure>,
    from_failure: fn(StoredFailure) -> E,
    comes_back_as: fn(&E, &E) -> bool,
    format: Format<StoredFailure>,
}

impl<E> Clone for FailureCodec<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for FailureCodec<E> {}

/// Returns the encoder of the result type, which the compiler infers.
pub fn writes<T: RecordWrite>() -> Writes<T> {
    T::encode
}

/// Returns the decoder of the result type.
pub fn reads<T: RecordRead>() -> Reads<T> {
    T::decode
}

/// Returns the conversion from the library's error.
pub fn lifts<E: HandlerError>() -> Lifts<E> {
    E::lift
}

/// Returns the conversions that `failures = "record"` needs.
pub fn failures<E: Failure>() -> FailureCodec<E> {
    FailureCodec {
        to_failure: E::to_failure,
        from_failure: E::from_failure,
        comes_back_as: E::comes_back_as,
        format: Format::of(E::VERSIONS),
    }
}

/// Creates a contract that records no failures.
pub fn contract<T, E>(write: Writes<T>, read: Reads<T>, lift: Lifts<E>) -> Contract<T, E> {
    Contract {
        format: Format::new(read, write),
        lift,
        failures: None,
    }
}

impl<T, E> Contract<T, E> {
    /// Records permanent failures as well.
    #[must_use]
    pub fn recording(mut self, failures: FailureCodec<E>) -> Self {
        self.failures = Some(failures);
        self
    }

    /// Reads and writes these versions of the result.
    #[must_use]
    pub fn versioned(mut self, versions: Versions<T>) -> Self {
        self.format = self.format.versioned(Some(versions));
        self
    }

    pub(crate) fn records_failures(&self) -> bool {
        self.failures.is_some()
    }

    pub(crate) fn lift(&self, error: impl Into<Error>) -> E {
        (self.lift)(error.into())
    }

    /// Encodes the result of at most `limit` bytes for the record and checks that it decodes to an equal
    /// value. Returns the bytes and the decoded value, which every caller gets.
    pub(crate) fn encode(
        &self,
        limit: usize,
        operation: &str,
        value: &T,
    ) -> Result<(Vec<u8>, T), Error> {
        self.format
            .encode(limit, PayloadKind::Result, operation, value)
    }

    /// Encodes the failure of at most `limit` bytes for the record if the error is permanent, and checks that it is rebuilt
    /// as the same failure. Returns the bytes and the rebuilt error. Returns `None` if the error is
    /// transient.
    pub(crate) fn encode_failure(
        &self,
        limit: usize,
        operation: &str,
        error: &E,
    ) -> Option<Result<(Vec<u8>, E), Error>> {
        let failures = self.failures?;
        // A deadlock or serialization failure may succeed on a retry, even if its variant is
        // permanent.
        let failure = (failures.to_failure)(error).filter(|failure| !failure.given_up)?;
        Some(failures.encode(limit, operation, error, &failure))
    }

    /// Decodes the recorded result.
    pub(crate) fn read(&self, record: &Record) -> Result<T, Error> {
        self.format
            .decode(&record.operation, payload::result_bytes(record)?)
    }

    /// Rebuilds the recorded failure as the handler's error. A handler that has stopped recording
    /// failures still replays earlier ones, as [`Error::RecordedFailure`].
    pub(crate) fn read_failure(&self, record: &Record) -> Result<E, Error> {
        let Some(failures) = self.failures else {
            let failure = payload::stored_failure(record)?;
            return Err(Error::RecordedFailure(Box::new(failure)));
        };
        let payload = payload::failure_bytes(record)?;
        let failure = failures.format.decode(&record.operation, payload);
        failure.map(failures.from_failure).map_err(named::<E>)
    }
}

impl<E> FailureCodec<E> {
    fn encode(
        self,
        limit: usize,
        operation: &str,
        error: &E,
        failure: &StoredFailure,
    ) -> Result<(Vec<u8>, E), Error> {
        let (bytes, stored) =
            self.format
                .encode(limit, PayloadKind::Failure, operation, failure)?;
        let back = (self.from_failure)(stored);
        if (self.comes_back_as)(error, &back) && self.is_again(operation, &back, failure, &bytes)? {
            return Ok((bytes, back));
        }
        let reason = "the permanent failure changes when it is rebuilt from its JSON (a field that \
                      JSON cannot hold, or that is not read as it is written)";
        let class = format!("class `{}`", failure.class);
        Err(payload::unstorable::<E>(operation, reason, Some(&class)))
    }

    /// Returns whether the rebuilt error would be recorded with the same payload. Returns `true` if
    /// the rebuilt error is not permanent: there is nothing to compare.
    fn is_again(
        self,
        operation: &str,
        back: &E,
        failure: &StoredFailure,
        bytes: &[u8],
    ) -> Result<bool, Error> {
        let Some(mut again) = (self.to_failure)(back) else {
            return Ok(true);
        };
        // A rebuilt error typically has no cause, and its message may list a set in another order.
        again.cause.clone_from(&failure.cause);
        again.message.clone_from(&failure.message);
        self.format.is_again(operation, &again, bytes)
    }
}

/// Names the handler's error type in the refusal of a recorded failure.
fn named<E>(refusal: Error) -> Error {
    match refusal {
        Error::IncompatibleState {
            operation,
            path,
            message,
            version,
            ..
        } => Error::IncompatibleState {
            operation,
            type_name: std::any::type_name::<E>(),
            path,
            message,
            version,
        },
        refusal => refusal,
    }
}
