//! Why a call claims again, and what its next attempt does first.

use std::mem;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::connection::ConnectionGuard;
use crate::calls::kit::backoff::Backoff;
use crate::calls::kit::request::Request;
use crate::calls::kit::waiters::{self, Shown, Turn, Waited, Waiting, schedule};
use crate::decision::Decision;
use crate::stores::{Backend, ClaimRequest, PoolTraitsOf};
use crate::values::error::Error;
use crate::values::policy::{DEFAULT_RETRY_AFTER, OnConflict};

/// Why a call claims again.
#[derive(Debug)]
pub(super) enum Retry<A> {
    /// The pooled connection was inside a transaction of other code: take another connection.
    DirtyConnection,
    /// Another attempt holds a lock for a moment: wait without a connection.
    Wait(Duration),
    /// Another attempt holds the key: wait for its end with all other waiters of the key.
    KeyInFlight {
        deadline: Instant,
        /// The refusal if the time is over.
        over: Error,
    },
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
    /// The call's turn to claim, until its attempt has ended.
    turn: Option<Turn>,
    shown: Shown,
    /// Whether the call is at its first attempt, and has sent nothing.
    is_first: bool,
}

impl<A> Default for Retries<A> {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            next: None,
            prepared_anew: false,
            turn: None,
            shown: Shown::default(),
            is_first: true,
        }
    }
}

impl<A: Default> Retries<A> {
    /// Sets why the next attempt is made.
    pub(super) fn set_next(&mut self, retry: Retry<A>) {
        if matches!(retry, Retry::Wait(_) | Retry::KeyInFlight { .. }) {
            self.end_turn();
        }
        self.is_first = false;
        self.next = Some(retry);
    }

    /// Lets the next waiter of the key claim.
    pub(super) fn end_turn(&mut self) {
        self.turn = None;
    }

    /// Returns when the call stops waiting for its key, if it has begun to.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.backoff.conflict_deadline()
    }

    /// Returns whether the next attempt begins by waiting for another one.
    pub(super) fn waits_next(&self) -> bool {
        matches!(self.next, Some(Retry::Wait(_) | Retry::KeyInFlight { .. }))
    }

    /// Returns how often the call has waited.
    pub(super) fn waits(&self) -> u32 {
        self.backoff.waits()
    }

    /// Does what the last attempt left to this one. Returns what it starts from.
    pub(super) async fn resume<DB: Backend<Approach = A>>(
        &mut self,
        connection: &mut ConnectionGuard<'_, DB>,
        request: &Request,
        claim_request: Option<&ClaimRequest<PoolTraitsOf<DB>>>,
    ) -> Result<A, NotClaimed<A>> {
        match self.next.take() {
            None | Some(Retry::StatementsLost) => {}
            Some(Retry::Approach(approach)) => return Ok(approach),
            Some(Retry::BeginFailed(error)) => return Err(error.into()),
            Some(Retry::DirtyConnection) => connection.release(),
            Some(Retry::Wait(pause)) => {
                connection.release();
                sleep(pause).await;
            }
            Some(Retry::KeyInFlight { deadline, over }) => {
                connection.release();
                let (Some(pool), Some(claim_request)) = (connection.pool(), claim_request) else {
                    // The call keeps its caller's connection, and asks again on it.
                    let pause = schedule::pause(self.waits(), 0);
                    sleep_until(deadline.min(Instant::now() + pause)).await;
                    return Ok(A::default());
                };
                let waited = waiters::wait(Waiting {
                    pool,
                    claim_request,
                    input: request.decide_input(),
                    deadline,
                    over,
                    waits: self.waits(),
                    shown: &mut self.shown,
                });
                match Box::pin(waited).await {
                    Waited::Claim(turn) => self.turn = turn,
                    Waited::Over(over) => {
                        return Err(NotClaimed::Decided(Decision::Refuse(over)));
                    }
                }
            }
        }
        Ok(A::default())
    }

    /// Returns how the call waits without an attempt of its own, if others already wait for its key.
    pub(super) fn join<DB: Backend>(
        &mut self,
        connection: &ConnectionGuard<'_, DB>,
        request: &Request,
        claim_request: Option<&ClaimRequest<PoolTraitsOf<DB>>>,
    ) -> Option<NotClaimed<A>> {
        let waits = matches!(
            request.operation().policy().on_conflict,
            OnConflict::Wait(_)
        );
        if !waits || !self.is_first {
            return None;
        }
        let is_waited_for = waiters::is_waited_for(connection.pool()?, claim_request?);
        let over = Error::in_flight(DEFAULT_RETRY_AFTER);
        is_waited_for
            .then(|| self.wait(request, over).ok())
            .flatten()
            .map(NotClaimed::Again)
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
        if is_momentary && !own {
            // After this error the caller's own transaction may be rolled back, so only a
            // transaction of the library's is retried.
            return NotClaimed::Failed(error);
        }
        if is_momentary && let Some(pause) = self.backoff.retry_lock() {
            return NotClaimed::Again(Retry::Wait(pause));
        }
        if is_momentary || matches!(error, Error::Busy(_)) {
            return match self.wait(request, error) {
                Ok(retry) => NotClaimed::Again(retry),
                Err(error) => NotClaimed::Failed(error),
            };
        }
        NotClaimed::Failed(error)
    }

    /// Returns whether the call tries again after this decision: with `on_conflict = "wait"`, while
    /// another attempt is in flight.
    pub(super) fn after_decision(
        &mut self,
        decision: Decision,
        request: &Request,
    ) -> NotClaimed<A> {
        match decision {
            Decision::Refuse(over @ Error::InFlight { .. }) => match self.wait(request, over) {
                Ok(retry) => NotClaimed::Again(retry),
                Err(over) => NotClaimed::Decided(Decision::Refuse(over)),
            },
            decision => NotClaimed::Decided(decision),
        }
    }

    /// Returns how the call waits for its key, or `over` if it does not, or no longer. A call without a
    /// key does not wait.
    fn wait(&mut self, request: &Request, over: Error) -> Result<Retry<A>, Error> {
        match request.operation().policy().on_conflict {
            OnConflict::Wait(limit) if request.identity().is_some() => {
                match self.backoff.wait(limit) {
                    Some(deadline) => Ok(Retry::KeyInFlight { deadline, over }),
                    None => Err(over),
                }
            }
            OnConflict::Wait(_) | OnConflict::Reject => Err(over),
        }
    }
}
