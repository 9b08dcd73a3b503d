//! How a call ends, before it becomes the handler's own `Result`.

use super::contract::Contract;
use crate::error::{Error, ErrorKind};
use crate::outcome::{Decision, unknown};
use crate::record::Record;
use crate::replay::{self, Replayable};

/// How a call ends.
pub(crate) enum Answer<T, E> {
    /// The body ran and its effect is committed: its result as the record has it, which every retry
    /// gets.
    Executed(T),
    /// The body ran without a key and its effect is committed: its own result, as none is recorded.
    Unkeyed(T),
    /// An earlier result.
    Replayed(Box<Record>),
    /// An earlier permanent failure.
    FailureReplayed(Box<Record>),
    /// An earlier result, read from its record.
    Read(T, Box<Record>),
    /// An earlier permanent failure, built again from its record.
    FailureRead(E, Box<Record>),
    /// An earlier permanent failure that the handler's error cannot carry: the library's, in its place.
    FailureRefused(Error, Box<Record>),
    /// The body failed for good; its failure is committed and its writes are not. As the record has
    /// it, likewise.
    FailureRecorded(E),
    /// The body failed; nothing of it remains.
    Failed(E),
    /// The library refuses, or could not.
    Refused(Error),
}

impl<T, E> Answer<T, E> {
    /// What a decision that does not run the body answers. `or` is the refusal for one that would.
    pub(crate) fn of(decision: Decision, or: impl FnOnce() -> Error) -> Self {
        match decision {
            Decision::Run { .. } | Decision::TakeOver { .. } | Decision::Held { .. } => {
                Self::Refused(or())
            }
            Decision::Lapse(record) => Self::Refused(unknown(&record)),
            Decision::Replay(record) => Self::Replayed(record),
            Decision::ReplayFailure(record) => Self::FailureReplayed(record),
            Decision::Refuse(error) => Self::Refused(error),
        }
    }

    /// Reads what is replayed, so that a record that cannot be read is known for the refusal it is.
    pub(super) fn read(self, contract: &Contract<T, E>) -> Self {
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

    /// One word for the event.
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

    /// When the replayed record was written, if one is replayed.
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

    /// The library's refusal, if it is one.
    pub(crate) fn refusal(&self) -> Option<&Error> {
        match self {
            Self::Refused(error) | Self::FailureRefused(error, _) => Some(error),
            _ => None,
        }
    }

    /// The handler's own `Result`. Of an `Err` it is said whether it is a recorded one.
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
