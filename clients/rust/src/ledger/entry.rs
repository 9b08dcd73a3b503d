//! A request of the ledger, as it is looked up.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use idem_messaging::outbox::EventId;

use crate::key::Key;

/// A request of the ledger, and what has become of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The id that [`Ledger::enqueue`](super::Ledger::enqueue) returned.
    pub id: EventId,
    /// The key that each attempt has.
    pub key: Key,
    /// What has become of it.
    pub state: LedgerState,
}

/// What has become of a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LedgerState {
    /// It will be sent, or is sent again: its outcome is open.
    Open {
        /// How many attempts have begun.
        attempts: u32,
        /// The error of the last attempt, if one has failed.
        error: Option<String>,
    },
    /// The service has answered it.
    Answered(LedgerAnswer),
    /// The service has refused it for good. It was set aside: nobody sends it again.
    Refused(LedgerAnswer),
    /// Its attempts are used up. Its outcome is open: [`Ledger::requeue`](super::Ledger::requeue) sends it again.
    Dead {
        /// The error of the last attempt.
        error: Option<String>,
    },
}

impl LedgerState {
    /// Returns whether a worker will send it no more.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Open { .. })
    }
}

/// The answer to a request. `Debug` shows its status only: the rest may be personal data.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers that are text.
    pub headers: HeaderMap,
    /// The body, to its end.
    pub body: Bytes,
}

impl fmt::Debug for LedgerAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerAnswer")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
