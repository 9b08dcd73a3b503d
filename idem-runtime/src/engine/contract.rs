//! What a handler's result and error types must be able to do, asked once and kept as function
//! pointers.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::failure::{Failure, StoredFailure};
use crate::payload;
use crate::record::Record;
use crate::replay::Replayable;

/// A result that can be recorded: anything `Serialize`.
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

/// A result that can be replayed: anything `DeserializeOwned`.
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

/// An error type that can carry a refusal of the library: anything `From<idem_runtime::Error>`.
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

/// What a handler returns: a `Result`, under whatever alias.
#[diagnostic::on_unimplemented(
    message = "an idempotent handler returns a `Result`, and `{Self}` is none",
    label = "write `Result<T, E>` here, or an alias of it"
)]
pub trait HandlerResult {
    /// The result that is recorded.
    type Ok;
    /// The error that carries refusals.
    type Err;
    /// What the handler's callers get.
    type Replayed;
}

impl<T, E> HandlerResult for Result<T, E> {
    type Ok = T;
    type Err = E;
    type Replayed = Result<Replayable<T>, E>;
}

/// Everything asked of `T` and `E`, as function pointers.
pub struct Contract<T, E> {
    write: Writes<T>,
    read: Reads<T>,
    lift: Lifts<E>,
    failures: Option<Failures<E>>,
}

// Function pointers, whatever `T` and `E` are.
impl<T, E> Clone for Contract<T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, E> Copy for Contract<T, E> {}

type Writes<T> = fn(&T, &str) -> Result<Vec<u8>, Error>;
type Reads<T> = fn(&str, &[u8]) -> Result<T, Error>;
type Lifts<E> = fn(Error) -> E;

/// The two ways of a failure, and whether it is built again as what it was.
pub struct Failures<E> {
    to_failure: fn(&E) -> Option<StoredFailure>,
    from_failure: fn(StoredFailure) -> E,
    comes_back_as: fn(&E, &E) -> bool,
}

impl<E> Clone for Failures<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Failures<E> {}

/// The writing half, with the type still to be inferred.
pub fn writes<T: RecordWrite>() -> Writes<T> {
    T::encode
}

/// The reading half.
pub fn reads<T: RecordRead>() -> Reads<T> {
    T::decode
}

/// The error's half.
pub fn lifts<E: HandlerError>() -> Lifts<E> {
    E::lift
}

/// What `failures = "record"` asks of the error besides.
pub fn failures<E: Failure>() -> Failures<E> {
    Failures {
        to_failure: E::to_failure,
        from_failure: E::from_failure,
        comes_back_as: E::comes_back_as,
    }
}

/// Puts the halves together.
pub fn contract<T, E>(write: Writes<T>, read: Reads<T>, lift: Lifts<E>) -> Contract<T, E> {
    Contract {
        write,
        read,
        lift,
        failures: None,
    }
}

impl<T, E> Contract<T, E> {
    /// Records permanent failures.
    #[must_use]
    pub fn recording(mut self, failures: Failures<E>) -> Self {
        self.failures = Some(failures);
        self
    }

    pub(crate) fn records_failures(&self) -> bool {
        self.failures.is_some()
    }

    pub(crate) fn lift(&self, error: impl Into<Error>) -> E {
        (self.lift)(error.into())
    }

    /// The result as it is recorded, proved to come back as it went; and as it comes back, for the
    /// first caller as for all others.
    pub(crate) fn encode(&self, operation: &str, value: &T) -> Result<(Vec<u8>, T), Error> {
        let bytes = (self.write)(value, operation)?;
        let back = payload::prove(operation, &bytes, self.read, self.write)?;
        Ok((bytes, back))
    }

    /// The failure as it is recorded, if the error is permanent, proved to be the same failure when
    /// it comes back; and as it comes back.
    pub(crate) fn encode_failure(
        &self,
        operation: &str,
        error: &E,
    ) -> Option<Result<(Vec<u8>, E), Error>> {
        let failures = self.failures?;
        // What the database gave up may succeed on a retry, whatever the error calls it.
        let failure = (failures.to_failure)(error).filter(|failure| !failure.given_up)?;
        Some(failures.encode(operation, error, &failure))
    }

    /// The recorded result.
    pub(crate) fn read(&self, record: &Record) -> Result<T, Error> {
        (self.read)(&record.operation, payload::result_bytes(record)?)
    }

    /// The recorded failure, as this handler's error. A handler that has stopped recording failures
    /// still replays those recorded before, as the library's own error.
    pub(crate) fn read_failure(&self, record: &Record) -> Result<E, Error> {
        let failure = payload::stored_failure(record)?;
        match self.failures {
            Some(failures) => Ok((failures.from_failure)(failure)),
            None => Err(Error::RecordedFailure(Box::new(failure))),
        }
    }
}

impl<E> Failures<E> {
    fn encode(
        self,
        operation: &str,
        error: &E,
        failure: &StoredFailure,
    ) -> Result<(Vec<u8>, E), Error> {
        let (bytes, stored) = payload::encode(operation, failure)?;
        let back = (self.from_failure)(stored);
        if (self.comes_back_as)(error, &back) && self.is_again(operation, &back, failure, &bytes)? {
            return Ok((bytes, back));
        }
        let reason = "a permanent failure is another one when it is built again (a field that JSON \
                      cannot hold, or that is not read as it is written)";
        let class = format!("class `{}`", failure.class);
        Err(payload::unstorable::<E>(operation, reason, Some(&class)))
    }

    /// Whether the failure that was built again would be recorded as it is. One that would not be
    /// recorded at all has nothing to compare.
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
        // An error built again has no cause, by habit; and its text may name a set in another order.
        again.cause.clone_from(&failure.cause);
        again.message.clone_from(&failure.message);
        Ok(payload::alike(bytes, &payload::write(&again, operation)?))
    }
}
