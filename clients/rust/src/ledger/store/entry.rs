//! A row as it was looked up.

use bytes::Bytes;
use http::StatusCode;
use idem_messaging::outbox::EventId;

use crate::ledger::answer::decoded;
use crate::ledger::entry::{LedgerAnswer, LedgerEntry, LedgerState};
use crate::ledger::error::LedgerError;

/// The state of an event that was set aside, in the queue.
const DEAD: i16 = 2;

/// A request and its event in the queue, as they are stored.
pub struct EntryRow {
    pub(super) state: i16,
    pub(super) key: String,
    pub(super) status: Option<i16>,
    pub(super) headers: Option<String>,
    pub(super) body: Option<Vec<u8>>,
    /// The event's state, attempts and last error. There is none, if it has left.
    pub(super) queue_state: Option<i16>,
    pub(super) attempts: Option<i32>,
    pub(super) last_error: Option<String>,
}

impl EntryRow {
    pub(in crate::ledger) fn read(self, id: &EventId) -> Result<LedgerEntry, LedgerError> {
        let unreadable = |what| LedgerError::Unreadable {
            id: id.as_str().to_owned(),
            what,
        };
        let key = self.key.parse().map_err(|_| unreadable("key"))?;
        let state = match self.state {
            super::OPEN if self.queue_state == Some(DEAD) => LedgerState::Dead {
                error: self.last_error,
            },
            super::OPEN => LedgerState::Open {
                attempts: self.attempts.unwrap_or_default().unsigned_abs(),
                error: self.last_error,
            },
            super::ANSWERED => LedgerState::Answered(self.answer().map_err(unreadable)?),
            super::REFUSED => LedgerState::Refused(self.answer().map_err(unreadable)?),
            _ => return Err(unreadable("state")),
        };
        Ok(LedgerEntry {
            id: id.clone(),
            key,
            state,
        })
    }

    fn answer(self) -> Result<LedgerAnswer, &'static str> {
        let status = self.status.map(i16::cast_unsigned);
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        Ok(LedgerAnswer {
            status: status.ok_or("status")?,
            headers: self
                .headers
                .as_deref()
                .and_then(decoded)
                .ok_or("answer's headers")?,
            body: Bytes::from(self.body.ok_or("answer's body")?),
        })
    }
}
