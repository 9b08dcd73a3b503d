//! What an error means for its caller, and what to answer it with.

use std::time::Duration;

use super::Error;

/// What an [`Error`] means for its caller, one word for many variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is at fault and must change.
    Invalid,
    /// The same key with another request.
    Mismatch,
    /// Another attempt is running.
    InFlight,
    /// An earlier attempt failed for good.
    RecordedFailure,
    /// Nobody knows whether an earlier effect happened.
    OutcomeUnknown,
    /// The program is at fault: nesting, a body that ends its transaction, a schema unfit.
    Misuse,
    /// A passing condition of the database: try again with the same key.
    Transient,
    /// The store cannot be reached or written.
    Unavailable,
    /// A stored record cannot be understood.
    Incompatible,
    /// A database error of the library's own statements.
    Database,
}

impl Error {
    /// What this error means for its caller.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid(_) | Self::KeyMissing { .. } => ErrorKind::Invalid,
            Self::Mismatch(_) => ErrorKind::Mismatch,
            Self::InFlight { .. } => ErrorKind::InFlight,
            Self::RecordedFailure(_) => ErrorKind::RecordedFailure,
            Self::OutcomeUnknown { .. } => ErrorKind::OutcomeUnknown,
            Self::ScopeMissing { .. }
            | Self::NestedSameKey
            | Self::AlreadyInTransaction
            | Self::NotInTransaction
            | Self::TransactionEnded
            | Self::TableMoved { .. }
            | Self::PermissionDenied { .. }
            | Self::StatementUnfinished(_)
            | Self::TransactionAborted
            | Self::RecordInvisible
            | Self::RecordNotWritten
            | Self::NotStorable { .. }
            | Self::Schema(_)
            | Self::LeaseInTransaction => ErrorKind::Misuse,
            Self::LeaseLost
            | Self::TooManyRuns { .. }
            | Self::TransactionLost(_)
            | Self::FreshTransactionNeeded
            | Self::CommitUnknown(_)
            | Self::StatementsLost(_)
            | Self::LockTableFull(_)
            | Self::Busy(_) => ErrorKind::Transient,
            Self::Unavailable(_) | Self::ReadOnly(_) => ErrorKind::Unavailable,
            Self::IncompatibleState { .. } | Self::UnknownState { .. } => ErrorKind::Incompatible,
            Self::CommitFailed(_) | Self::Database(_) => ErrorKind::Database,
        }
    }

    /// Whether the same call with the same key may succeed later without anybody mending anything.
    ///
    /// This says whether a retry makes sense. It is *safe* after every error but
    /// [`Error::TransactionEnded`]: what a body has committed by itself stands without a record, and
    /// a retry does it once more.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::InFlight | ErrorKind::Transient | ErrorKind::Unavailable
        )
    }

    /// When to try again, for [`Error::InFlight`] and [`Error::TooManyRuns`].
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::InFlight { retry_after } | Self::TooManyRuns { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }

    /// The HTTP status that fits, as data: 400, 409 and 422 as in the IETF Idempotency-Key draft
    /// (section 2.7), 503 where a retry makes sense, else 500.
    pub fn status(&self) -> u16 {
        match self.kind() {
            ErrorKind::Invalid => 400,
            ErrorKind::InFlight | ErrorKind::OutcomeUnknown => 409,
            ErrorKind::Mismatch | ErrorKind::RecordedFailure => 422,
            ErrorKind::Transient | ErrorKind::Unavailable => 503,
            ErrorKind::Misuse | ErrorKind::Incompatible | ErrorKind::Database => 500,
        }
    }
}
