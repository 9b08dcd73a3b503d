//! The end of a call, decoded for its caller.

use super::contract::Contract;
use crate::values::error::Error;
use crate::values::record::Record;
use crate::values::replay::{self, Replayable};

/// The end of a call after its record, if one is replayed, is decoded: what the event says and the
/// caller gets.
pub(crate) struct DecodedAnswer<T, E> {
    /// The value of the event's field `outcome`.
    outcome: &'static str,
    result: Result<T, CallError<E>>,
    /// The replayed record, if one is replayed.
    record: Option<Box<Record>>,
}

/// What the event of a replay says once the replay may be answered.
pub(crate) struct Withheld {
    pub(super) outcome: &'static str,
    pub(super) record: Box<Record>,
}

/// Why a call returns `Err`.
pub(super) enum CallError<E> {
    /// The handler's own error, of its body or rebuilt from the record.
    Own(E),
    /// A refusal of the library's.
    Refused(Error),
}

impl<T, E> DecodedAnswer<T, E> {
    pub(super) fn new(
        outcome: &'static str,
        result: Result<T, CallError<E>>,
        record: Option<Box<Record>>,
    ) -> Self {
        Self {
            outcome,
            result,
            record,
        }
    }

    pub(crate) fn outcome(&self) -> &'static str {
        self.outcome
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.as_deref()
    }

    /// Returns the library's refusal, if the call ended with one.
    pub(crate) fn refusal(&self) -> Option<&Error> {
        match &self.result {
            Err(CallError::Refused(error)) => Some(error),
            Ok(_) | Err(CallError::Own(_)) => None,
        }
    }

    /// Converts the answer to the handler's own `Result`. Stores for
    /// [`ReplayExt`](crate::ReplayExt) whether an `Err` is a replay.
    pub(crate) fn into_result(self, contract: &Contract<T, E>) -> Result<Replayable<T>, E> {
        let error = match (self.result, &self.record) {
            (Ok(value), None) => return Ok(Replayable::first(value)),
            (Ok(value), Some(record)) => return Ok(Replayable::again(value, record)),
            (Err(CallError::Own(error)), _) => error,
            (Err(CallError::Refused(error)), _) => contract.lift(error),
        };
        replay::failed(self.record.map(|record| record.created_at));
        Err(error)
    }
}
