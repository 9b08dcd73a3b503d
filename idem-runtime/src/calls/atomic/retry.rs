//! Why a call claims again, and what its next attempt does first.

use std::mem;
use std::time::Duration;

use tokio::time::sleep;

use super::connection::ConnectionGuard;
use crate::calls::kit::backoff::Backoff;
use crate::calls::kit::request::Request;
use crate::decision::Decision;
use crate::stores::Backend;
use crate::values::error::Error;
use crate::values::policy::OnConflict;

/// Why a call claims again.
#[derive(Debug)]
pub(super) enum Retry<A> {
    /// The pooled connection was inside a transaction of other code: take another connection.
    DirtyConnection,
    /// Another attempt holds the key or a lock: wait without a connection.
    Wait(Duration),
    /// The database has forgotten the connection's prepared statements: prepare them again.
    StatementsLost,
    /// The unit of work could not be opened this way: open it from here.
    Approach(A),
    /// BEGIN failed on the caller's connection: return this error after the transaction that may
    /// have begun is ended.
    BeginFailed(Error),
}

/// Why an attempt to claim did not lead to the body.
#[derive(Debug)]
pub(super) enum NotClaimed<A> {
    Decided(Decision),
    Again(Retry<A>),
    Failed(Error),
}

impl<A> From<Error> for NotClaimed<A> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What a call keeps of its attempts to claim.
#[derive(Debug)]
pub(super) struct Retries<A> {
    backoff: Backoff,
    /// Why the next attempt is made, or `None` before the first.
    next: Option<Retry<A>>,
    /// Whether the call has started again because prepared statements were lost.
    prepared_anew: bool,
}

impl<A> Default for Retries<A> {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            next: None,
            prepared_anew: false,
        }
    }
}

impl<A: Default> Retries<A> {
    /// Sets why the next attempt is made.
    pub(super) fn set_next(&mut self, retry: Retry<A>) {
        self.next = Some(retry);
    }

    /// Returns how often the call has waited.
    pub(super) fn waits(&self) -> u32 {
        self.backoff.waits()
    }

    /// Does what the last attempt left to this one. Returns what it starts from.
    pub(super) async fn resume<DB: Backend>(
        &mut self,
        connection: &mut ConnectionGuard<'_, DB>,
    ) -> Result<A, Error> {
        connection.end_unresolved_begin().await?;
        match self.next.take() {
            None | Some(Retry::StatementsLost) => Ok(A::default()),
            Some(Retry::Approach(approach)) => Ok(approach),
            Some(Retry::BeginFailed(error)) => Err(error),
            Some(Retry::DirtyConnection) => {
                connection.release();
                Ok(A::default())
            }
            Some(Retry::Wait(pause)) => {
                connection.release();
                sleep(pause).await;
                Ok(A::default())
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
    ) -> NotClaimed<A> {
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
    pub(super) fn after_decision(
        &mut self,
        decision: Decision,
        request: &Request,
    ) -> NotClaimed<A> {
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
