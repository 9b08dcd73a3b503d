//! What a handler answered, as far as a broker is concerned.

use std::fmt::Display;
use std::time::Duration;

use idem_runtime::{Error, ErrorKind, Failure};
use uuid::Uuid;

use super::refused::MessageError;

/// What a handler answered.
///
/// A `Result<Replayable<T>, E>` becomes one by [`IntoAnswer`](super::IntoAnswer), where `E` implements [`AsAnswer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The handler ran, and its effect is committed.
    Done,
    /// An earlier delivery had the effect.
    Replayed,
    /// The message cannot be handled as it is.
    Refused {
        /// Why, in a sentence.
        detail: String,
    },
    /// The handler failed for good.
    Permanent {
        /// The text of its error.
        detail: String,
    },
    /// The handler failed with an error of its own that may pass. It uses up an attempt.
    Failed {
        /// The text of its error.
        detail: String,
    },
    /// The handler asks for another delivery after this time, for example because an earlier event is missing. It leaves
    /// no record, and uses up an attempt.
    Retry {
        /// The least time until the next delivery.
        after: Duration,
        /// Why, in a sentence.
        detail: String,
    },
    /// Another attempt with this key is running.
    InFlight {
        /// When to try again.
        retry_after: Duration,
    },
    /// The database gave up this transaction for the sake of another one. Nothing was written.
    Conflict {
        /// What happened.
        detail: String,
    },
    /// Nobody can be served now: the database is away, or busy, or its schema is unfit.
    Unavailable {
        /// What happened.
        detail: String,
    },
    /// This attempt's effect may have happened, and the attempt has said so to the library
    /// ([`Attempt::outcome_unknown`](idem_runtime::Attempt::outcome_unknown)). It uses up no attempt: the next delivery is
    /// answered by the record, and parked.
    InDoubt {
        /// The text of its error.
        detail: String,
    },
    /// An earlier attempt's outcome is unknown, and waits for reconciliation.
    OutcomeUnknown {
        /// The attempt; its record carries it.
        attempt_id: Uuid,
    },
    /// The message's id was used before for another type or payload.
    Mismatch {
        /// What happened.
        detail: String,
    },
    /// The message's id was used before in this namespace by another operation.
    SharedNamespace {
        /// The operation that has the record.
        recorded: String,
        /// The operation now called.
        submitted: String,
    },
    /// The handler ended its transaction by itself.
    TransactionEnded {
        /// What happened.
        detail: String,
    },
}

impl Answer {
    /// The handler failed for good, with this error.
    pub fn permanent(error: &(impl Display + ?Sized)) -> Self {
        let detail = error.to_string();
        Self::Permanent { detail }
    }

    /// The handler failed, and may succeed at another attempt.
    pub fn failed(error: &(impl Display + ?Sized)) -> Self {
        let detail = error.to_string();
        Self::Failed { detail }
    }

    /// The handler asks for another delivery after this time.
    pub fn retry(after: Duration, error: &(impl Display + ?Sized)) -> Self {
        let detail = error.to_string();
        Self::Retry { after, detail }
    }

    /// The handler does not know whether its effect happened: for the error that it returns after
    /// [`Attempt::outcome_unknown`](idem_runtime::Attempt::outcome_unknown).
    pub fn in_doubt(error: &(impl Display + ?Sized)) -> Self {
        let detail = error.to_string();
        Self::InDoubt { detail }
    }

    /// Nobody can be served now, by this error.
    pub fn unavailable(error: &(impl Display + ?Sized)) -> Self {
        let detail = error.to_string();
        Self::Unavailable { detail }
    }

    /// The answer of an error that derives [`Failure`]: permanent if the derive says so, else failed. For the variants of
    /// the handler's own; the library's and sqlx's have answers of their own ([`AsAnswer`]).
    pub fn of_failure(error: &(impl Failure + Display)) -> Self {
        match error.to_failure() {
            Some(_) => Self::permanent(error),
            None => Self::failed(error),
        }
    }
}

/// Says what an error of a handler is to a broker.
///
/// A handler's own error type passes on what it took in, and judges only its own variants:
///
/// ```
/// use idem_messaging::inbox::{Answer, AsAnswer};
///
/// #[derive(Debug, thiserror::Error)]
/// enum NotifyError {
///     #[error("case {0} has nobody to notify")]
///     NobodyToNotify(i64),
///     #[error(transparent)]
///     Database(#[from] sqlx::Error),
///     #[error(transparent)]
///     Idempotency(#[from] idem_runtime::Error),
/// }
///
/// impl AsAnswer for NotifyError {
///     fn as_answer(&self) -> Answer {
///         match self {
///             Self::NobodyToNotify(_) => Answer::permanent(self),
///             Self::Database(error) => error.as_answer(),
///             Self::Idempotency(error) => error.as_answer(),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what its errors are to a broker",
    note = "implement `idem_messaging::inbox::AsAnswer` for it: pass on `idem_runtime::Error` and `sqlx::Error`, and say of each variant of its own whether a retry can mend it"
)]
pub trait AsAnswer {
    /// Returns the answer that this error is.
    fn as_answer(&self) -> Answer;
}

impl AsAnswer for MessageError {
    fn as_answer(&self) -> Answer {
        let detail = self.to_string();
        Answer::Refused { detail }
    }
}

impl AsAnswer for Error {
    /// Sorts the library's errors by whose fault they are: this message's, nobody's, or the deployment's.
    ///
    /// | errors | answer |
    /// |---|---|
    /// | `Invalid`, `KeyMissing` | [`Refused`](Answer::Refused) |
    /// | `InFlight` | [`InFlight`](Answer::InFlight) |
    /// | `Mismatch`, of the same operation | [`Mismatch`](Answer::Mismatch) |
    /// | `Mismatch`, of another operation | [`SharedNamespace`](Answer::SharedNamespace) |
    /// | `RecordedFailure` | [`Permanent`](Answer::Permanent) |
    /// | `OutcomeUnknown` | [`OutcomeUnknown`](Answer::OutcomeUnknown) |
    /// | `TransactionEnded` | [`TransactionEnded`](Answer::TransactionEnded) |
    /// | `TransactionLost`, `FreshTransactionNeeded`, `StatementsLost`, `LeaseLost` | [`Conflict`](Answer::Conflict) |
    /// | `Unavailable`, `ReadOnly`, `Busy`, `CommitUnknown`, `LockTableFull`, `TooManyRuns`; `Schema`, `PermissionDenied`, `ScopeMissing` | [`Unavailable`](Answer::Unavailable) |
    /// | all others | [`Failed`](Answer::Failed) |
    fn as_answer(&self) -> Answer {
        let detail = || self.to_string();
        match self {
            Self::Invalid(_) | Self::KeyMissing { .. } => Answer::Refused { detail: detail() },
            Self::InFlight { retry_after, .. } => Answer::InFlight {
                retry_after: *retry_after,
            },
            Self::Mismatch(mismatch) => {
                let (recorded, submitted) =
                    (&mismatch.recorded_operation, &mismatch.submitted_operation);
                if recorded == submitted {
                    Answer::Mismatch { detail: detail() }
                } else {
                    Answer::SharedNamespace {
                        recorded: recorded.clone(),
                        submitted: submitted.clone(),
                    }
                }
            }
            Self::RecordedFailure(failure) => Answer::Permanent {
                detail: failure.message.clone(),
            },
            Self::OutcomeUnknown { attempt_id, .. } => Answer::OutcomeUnknown {
                attempt_id: *attempt_id,
            },
            Self::TransactionEnded => Answer::TransactionEnded { detail: detail() },
            // The whole server's or the whole deployment's: every message would meet it.
            Self::Busy(_)
            | Self::CommitUnknown(_)
            | Self::LockTableFull(_)
            | Self::TooManyRuns { .. }
            | Self::Schema(_)
            | Self::PermissionDenied { .. }
            | Self::ScopeMissing { .. } => Answer::Unavailable { detail: detail() },
            other => match other.kind() {
                ErrorKind::Unavailable => Answer::Unavailable { detail: detail() },
                ErrorKind::Transient => Answer::Conflict { detail: detail() },
                // A newer build of the consumer recorded it: its nodes can answer the next delivery.
                ErrorKind::Incompatible if other.is_retryable() => {
                    Answer::Conflict { detail: detail() }
                }
                _ => Answer::Failed { detail: detail() },
            },
        }
    }
}
