//! The kinds of errors, and the HTTP status of each.

use std::time::Duration;

#[cfg(feature = "mysql")]
use super::Silence;
use super::{CodecFault, Error};

/// What an [`Error`] means for its caller. Each kind covers several variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid and must change.
    Invalid,
    /// The same key with another request.
    Mismatch,
    /// Another attempt is running.
    InFlight,
    /// An earlier attempt failed permanently.
    RecordedFailure,
    /// It is unknown whether an earlier attempt's effect happened.
    OutcomeUnknown,
    /// A fault of the program: nested calls, a body that ends its transaction, an unsuitable schema.
    Misuse,
    /// A temporary condition of the database: try again with the same key.
    Transient,
    /// The store cannot be reached or written.
    Unavailable,
    /// A stored record cannot be decoded.
    Incompatible,
    /// A database error in one of the library's own statements.
    Database,
}

impl Error {
    /// Creates [`Error::InFlight`] of a key that the end of the call names.
    pub(crate) const fn in_flight(retry_after: Duration) -> Self {
        Self::InFlight {
            retry_after,
            key: None,
        }
    }

    /// Returns what this error means for its caller.
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
            | Self::TooLargeToRecord { .. }
            | Self::Archive(_)
            | Self::Schema(_)
            | Self::LeaseInTransaction
            | Self::Codec(
                CodecFault::NotInstalled { .. }
                | CodecFault::NamesChanged { .. }
                | CodecFault::TooLong { .. },
            ) => ErrorKind::Misuse,
            Self::LeaseLost
            | Self::TooManyRuns { .. }
            | Self::TransactionLost(_)
            | Self::FreshTransactionNeeded
            | Self::CommitUnknown(_)
            | Self::StatementsLost(_)
            | Self::LockTableFull(_)
            | Self::Busy(_) => ErrorKind::Transient,
            Self::Unavailable(_) | Self::ReadOnly(_) => ErrorKind::Unavailable,
            Self::IncompatibleState { .. } | Self::UnknownState { .. } | Self::Codec(_) => {
                ErrorKind::Incompatible
            }
            Self::CommitFailed(_) | Self::Database(_) => ErrorKind::Database,
        }
    }

    /// Returns whether the connection's answers are out of step with its statements, or none comes: nothing more can be
    /// sent on it.
    pub(crate) fn is_out_of_step(&self) -> bool {
        match self {
            Self::StatementUnfinished(_) => true,
            #[cfg(feature = "mysql")]
            Self::Unavailable(error) => Silence::is(error.as_sqlx()),
            _ => false,
        }
    }

    /// Returns whether the same call with the same key may succeed later without any repair.
    ///
    /// A retry is *safe* after every error except [`Error::TransactionEnded`]: the writes that the
    /// body committed itself remain without a record, and a retry repeats them. On MySQL and MariaDB a body may also go
    /// on after a deadlock, whose error it ignores, outside any transaction: if it then returns a permanent failure,
    /// the call is [`Error::TransactionLost`], and what it has written since stays.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::InFlight | ErrorKind::Transient | ErrorKind::Unavailable
        ) || self.is_of_a_newer_build()
    }

    /// Returns whether a newer build of this handler has written the record.
    fn is_of_a_newer_build(&self) -> bool {
        matches!(
            self,
            Self::IncompatibleState { version: Some(version), .. } if version.is_newer()
        )
    }

    /// Returns when to try again, for [`Error::InFlight`] and [`Error::TooManyRuns`].
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::InFlight { retry_after, .. } | Self::TooManyRuns { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }

    /// Returns the matching HTTP status: 400, 409 and 422 as in the IETF Idempotency-Key draft
    /// (section 2.7), 503 if a retry makes sense, and otherwise 500.
    pub fn status(&self) -> u16 {
        match self.kind() {
            ErrorKind::Invalid => 400,
            ErrorKind::InFlight | ErrorKind::OutcomeUnknown => 409,
            ErrorKind::Mismatch | ErrorKind::RecordedFailure => 422,
            ErrorKind::Transient | ErrorKind::Unavailable => 503,
            ErrorKind::Incompatible if self.is_of_a_newer_build() => 503,
            ErrorKind::Misuse | ErrorKind::Incompatible | ErrorKind::Database => 500,
        }
    }
}
