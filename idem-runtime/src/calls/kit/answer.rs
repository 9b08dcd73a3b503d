//! The end of a call, before it becomes the handler's own `Result`.

use super::contract::Contract;
use crate::decision::{Decision, unknown};
use crate::values::error::{Error, ErrorKind};
use crate::values::record::Record;
use crate::values::replay::{self, Replayable};

/// The end of a call.
pub(crate) enum Answer<T, E> {
    /// The body ran and is committed. Holds its result as decoded from the record, like every
    /// replay.
    Executed(T),
    /// The body ran without a key and is committed. Holds the body's own result, because none is
    /// recorded.
    Unkeyed(T),
    /// The record of an earlier result is replayed.
    Replayed(Box<Record>),
    /// The record of an earlier permanent failure is replayed.
    FailureReplayed(Box<Record>),
    /// An earlier result, decoded from its record.
    Read(T, Box<Record>),
    /// An earlier permanent failure, rebuilt from its record.
    FailureRead(E, Box<Record>),
    /// An earlier permanent failure that the handler's error type cannot represent; holds the
    /// library's error instead.
    FailureRefused(Error, Box<Record>),
    /// The body failed permanently. Its failure is committed and its writes are rolled back. Holds
    /// the error as rebuilt from the record.
    FailureRecorded(E),
    /// The body failed and everything is rolled back.
    Failed(E),
    /// The library refused the call, or failed.
    Refused(Error),
}

impl<T, E> Answer<T, E> {
    /// Converts a decision that does not run the body. A decision that would run it becomes the
    /// refusal `or()`.
    pub(crate) fn of(decision: Decision, or: impl FnOnce() -> Error) -> Self {
        match decision {
            Decision::Run { .. } | Decision::TakeOver { .. } | Decision::AlreadyHeld { .. } => {
                Self::Refused(or())
            }
            Decision::Lapse(record) => Self::Refused(unknown(&record)),
            Decision::Replay(record) => Self::Replayed(record),
            Decision::ReplayFailure(record) => Self::FailureReplayed(record),
            Decision::Refuse(error) => Self::Refused(error),
        }
    }

    /// Decodes the replayed record. If it cannot be decoded, the answer becomes a refusal.
    pub(crate) fn read(self, contract: &Contract<T, E>) -> Self {
        match self {
            Self::Replayed(record) => match contract.read(&record) {
                Ok(value) => Self::Read(value, record),
                Err(refusal) => Self::Refused(refusal),
            },
            Self::FailureReplayed(record) => match contract.read_failure(&record) {
                Ok(error) => Self::FailureRead(error, record),
                Err(refusal @ Error::RecordedFailure(_)) => Self::FailureRefused(refusal, record),
                Err(refusal) => Self::Refused(refusal),
            },
            other => other,
        }
    }

    /// Returns the value of the event's field `outcome`.
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            Self::Executed(_) => "executed",
            Self::Unkeyed(_) => "unkeyed",
            Self::Replayed(_) | Self::Read(..) => "replayed",
            Self::FailureReplayed(_) | Self::FailureRead(..) | Self::FailureRefused(..) => {
                "failure_replayed"
            }
            Self::FailureRecorded(_) => "failure_recorded",
            Self::Failed(_) => "failed",
            Self::Refused(Error::InFlight { .. }) => "in_flight",
            Self::Refused(Error::Mismatch(_)) => "mismatch",
            Self::Refused(Error::OutcomeUnknown { .. }) => "unknown",
            Self::Refused(Error::LeaseLost) => "lease_lost",
            Self::Refused(error) if error.kind() == ErrorKind::Incompatible => "incompatible",
            Self::Refused(_) => "refused",
        }
    }

    /// Returns the replayed record, if one is replayed.
    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            Self::Replayed(record)
            | Self::FailureReplayed(record)
            | Self::Read(_, record)
            | Self::FailureRead(_, record)
            | Self::FailureRefused(_, record) => Some(record),
            _ => None,
        }
    }

    /// Returns the library's refusal, if the call ended with one.
    pub(crate) fn refusal(&self) -> Option<&Error> {
        match self {
            Self::Refused(error) | Self::FailureRefused(error, _) => Some(error),
            _ => None,
        }
    }

    /// Converts the answer to the handler's own `Result`. Stores for
    /// [`ReplayExt`](crate::ReplayExt) whether an `Err` is a replay.
    pub(crate) fn into_result(self, contract: &Contract<T, E>) -> Result<Replayable<T>, E> {
        let (error, record) = match self {
            Self::Executed(value) | Self::Unkeyed(value) => return Ok(Replayable::first(value)),
            Self::Read(value, record) => return Ok(Replayable::again(value, &record)),
            Self::Replayed(record) => match contract.read(&record) {
                Ok(value) => return Ok(Replayable::again(value, &record)),
                Err(error) => (contract.lift(error), None),
            },
            Self::FailureReplayed(record) => match contract.read_failure(&record) {
                Ok(error) => (error, Some(record)),
                Err(error) => (contract.lift(error), None),
            },
            Self::FailureRead(error, record) => (error, Some(record)),
            Self::FailureRecorded(error) | Self::Failed(error) => (error, None),
            Self::Refused(error) => (contract.lift(error), None),
            Self::FailureRefused(error, record) => (contract.lift(error), Some(record)),
        };
        replay::failed(record.map(|record| record.created_at));
        Err(error)
    }
}
