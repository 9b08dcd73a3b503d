//! Why a call claims again, and what its next attempt does first.

use std::mem;
use std::time::Duration;

use tokio::time::sleep;

use super::connection::ConnectionGuard;
use crate::calls::kit::backoff::Backoff;
use crate::calls::kit::request::Request;
use crate::decision::Decision;
use crate::stores::{Backend, FusedFallback};
use crate::values::error::Error;
use crate::values::policy::OnConflict;

/// Why a call claims again.
#[derive(Debug)]
pub(super) enum Retry {
    /// The pooled connection was inside a transaction of other code: take another connection.
    DirtyConnection,
    /// Another attempt holds the key or a lock: wait without a connection.
    Wait(Duration),
    /// The database has forgotten the connection's prepared statements: prepare them again.
    StatementsLost,
    /// The claim could not be made in the message of BEGIN.
    NotFused(FusedFallback),
    /// BEGIN failed on the caller's connection: return this error after the transaction that may
    /// have begun is ended.
    BeginFailed(Error),
}

/// Why an attempt to claim did not lead to the body.
#[derive(Debug)]
pub(super) enum NotClaimed {
    Decided(Decision),
    Again(Retry),
    Failed(Error),
}

impl From<Error> for NotClaimed {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What a call keeps of its attempts to claim.
#[derive(Debug, Default)]
pub(super) struct Retries {
    backoff: Backoff,
    /// Why the next attempt is made, or `None` before the first.
    next: Option<Retry>,
    /// Whether the call has started again because prepared statements were lost.
    prepared_anew: bool,
}

impl Retries {
    /// Sets why the next attempt is made.
    pub(super) fn set_next(&mut self, retry: Retry) {
        self.next = Some(retry);
    }

    /// Returns how often the call has waited.
    pub(super) fn waits(&self) -> u32 {
        self.backoff.waits()
    }

    /// Does what the last attempt left to this one. Returns why this one must not begin and claim
    /// in one message, if there is a reason.
    pub(super) async fn resume<DB: Backend>(
        &mut self,
        connection: &mut ConnectionGuard<'_, DB>,
    ) -> Result<Option<FusedFallback>, Error> {
        connection.end_unresolved_begin().await?;
        match self.next.take() {
            None | Some(Retry::StatementsLost) => Ok(None),
            Some(Retry::NotFused(fallback)) => Ok(Some(fallback)),
            Some(Retry::BeginFailed(error)) => Err(error),
            Some(Retry::DirtyConnection) => {
                connection.release();
                Ok(None)
            }
            Some(Retry::Wait(pause)) => {
                connection.release();
                sleep(pause).await;
                Ok(None)
            }
        }
    }

    /// Returns whether the call tries again after this error at the start of a unit of work. With
    /// `on_conflict = "wait"` it also waits while the database is busy: the record of its key may be
    /// locked by an open transaction of another caller.
    pub(super) fn after_error<DB: Backend>(
        &mut self,
        error: Error,
        own: bool,
        request: &Request,
    ) -> NotClaimed {
        if matches!(error, Error::StatementsLost(_)) {
            // The body has not run, and the next attempt prepares the statements again.
            return if mem::replace(&mut self.prepared_anew, true) {
                NotClaimed::Failed(error)
            } else {
                NotClaimed::Again(Retry::StatementsLost)
            };
        }
        let is_momentary = DB::is_momentary(&error);
        let pause = if is_momentary && !own {
            // After this error the caller's own transaction may be rolled back, so only a
            // transaction of the library's is retried.
            None
        } else if is_momentary && let Some(pause) = self.backoff.retry_lock() {
            Some(pause)
        } else if is_momentary || matches!(error, Error::Busy(_)) {
            self.wait(request)
        } else {
            None
        };
        match pause {
            Some(pause) => NotClaimed::Again(Retry::Wait(pause)),
            None => NotClaimed::Failed(error),
        }
    }

    /// Returns whether the call tries again after this decision: with `on_conflict = "wait"`, while
    /// another attempt is in flight.
    pub(super) fn after_decision(&mut self, decision: Decision, request: &Request) -> NotClaimed {
        if matches!(decision, Decision::Refuse(Error::InFlight { .. }))
            && let Some(pause) = self.wait(request)
        {
            return NotClaimed::Again(Retry::Wait(pause));
        }
        NotClaimed::Decided(decision)
    }

    /// Returns the pause before the call asks again, or `None` if it waits no longer. A call without
    /// a key does not wait.
    fn wait(&mut self, request: &Request) -> Option<Duration> {
        match request.operation().policy().on_conflict {
            OnConflict::Wait(limit) if request.identity().is_some() => self.backoff.wait(limit),
            OnConflict::Wait(_) | OnConflict::Reject => None,
        }
    }
}
