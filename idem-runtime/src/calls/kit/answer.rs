//! The end of a call, before its record is decoded.

use super::contract::Contract;
use super::decoded_answer::{CallError, DecodedAnswer};
use super::request::Request;
use crate::decision::{Decision, unknown};
use crate::values::error::{Error, ErrorKind};
use crate::values::record::Record;

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

    /// Names the key of the call in the refusal of a key in flight. The call alone has it as its caller wrote it: the record may
    /// hold a hash.
    pub(super) fn naming_key_of(self, request: &Request) -> Self {
        match self {
            Self::Refused(Error::InFlight { retry_after, .. }) => {
                let key = request.caller_key().map(|key| key.as_str().into());
                Self::Refused(Error::InFlight { retry_after, key })
            }
            other => other,
        }
    }

    /// Decodes the replayed record. If it cannot be decoded, the answer becomes a refusal.
    pub(crate) fn decode(self, contract: &Contract<T, E>) -> DecodedAnswer<T, E> {
        let outcome = self.outcome();
        let (result, record) = match self {
            Self::Executed(value) | Self::Unkeyed(value) => (Ok(value), None),
            Self::Replayed(record) => match contract.read(&record) {
                Ok(value) => (Ok(value), Some(record)),
                Err(refusal) => return Self::Refused(refusal).decode(contract),
            },
            Self::FailureReplayed(record) => match contract.read_failure(&record) {
                Ok(error) => (Err(CallError::Own(error)), Some(record)),
                // The handler's error type cannot represent the failure: the caller gets the
                // library's error instead.
                Err(refusal @ Error::RecordedFailure(_)) => {
                    (Err(CallError::Refused(refusal)), Some(record))
                }
                Err(refusal) => return Self::Refused(refusal).decode(contract),
            },
            Self::FailureRecorded(error) | Self::Failed(error) => {
                (Err(CallError::Own(error)), None)
            }
            Self::Refused(error) => (Err(CallError::Refused(error)), None),
        };
        DecodedAnswer::new(outcome, result, record)
    }

    /// Returns whether the answer is the record of an earlier attempt.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, Self::Replayed(_) | Self::FailureReplayed(_))
    }

    /// Returns the value of the event's field `outcome`.
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            Self::Executed(_) => "executed",
            Self::Unkeyed(_) => "unkeyed",
            Self::Replayed(_) => "replayed",
            Self::FailureReplayed(_) => "failure_replayed",
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
}
