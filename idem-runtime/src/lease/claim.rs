//! Claiming a lease: ask, wait where that is wanted, and find a lost answer out.

use std::time::Duration;

use sqlx::Pool;
use tokio::time::{Instant, sleep, timeout_at};

use crate::engine::RESOLVE_WITHIN;
use crate::engine::lent::Lent;
use crate::engine::request::Request;
use crate::engine::unit::State;
use crate::error::Error;
use crate::outcome::Decision;
use crate::policy::{Lease, OnConflict};
use crate::store::lease::{LeaseBackend, Terms};
use crate::store::leased;
use crate::store::{Ask, CommitError};

/// The pause before a lost answer is looked for again: 20 ms.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A lease that is this attempt's.
pub(super) struct Claimed {
    /// Which attempt of the key, from 1.
    pub(super) attempt: i32,
    /// By this process's clock, at the latest.
    pub(super) until: Instant,
}

/// A claim whose answer was lost.
struct Lost {
    error: sqlx::Error,
    /// When it was sent: if it stands, its lease began no earlier.
    sent: Instant,
    deadline: Instant,
}

/// Claims; `Err` inside is what is the case instead.
pub(super) async fn claim<DB: LeaseBackend>(
    pool: &Pool<DB>,
    request: &Request,
    ask: &Ask,
    lease: Lease,
    state: &mut State,
) -> Result<Result<Claimed, Decision>, Error> {
    let terms = Terms {
        question: request.question(),
        lease,
        fingerprint: request.fingerprint(),
        request: request.kept_request(),
    };
    let mut lost: Option<Lost> = None;
    loop {
        if let Some(pause) = state.pause.take() {
            sleep(pause).await;
        }
        // Moved to when a connection is there: waiting for one takes nothing off the lease.
        let mut sent = Instant::now();
        let asked = once(pool, ask, &terms, &mut sent);
        let answer = match &lost {
            None => asked.await,
            Some(lost) => match timeout_at(lost.deadline, asked).await {
                Ok(answer) => answer,
                Err(_) => Err(CommitError::RolledBack(Error::LeaseLost)),
            },
        };
        match answer {
            Ok(Ok(attempt)) => {
                let from = lost.map_or(sent, |lost| lost.sent);
                let until = from + lease.duration();
                return Ok(Ok(Claimed { attempt, until }));
            }
            // While the transaction of a lost answer runs on, it holds the identity's lock.
            Ok(Err(decision)) if !may_wait(&decision, lost.as_ref(), request, state) => {
                return Ok(Err(decision));
            }
            Ok(Err(_)) => {}
            Err(CommitError::Ambiguous(error)) => {
                let deadline = sent + RESOLVE_WITHIN;
                lost.get_or_insert(Lost {
                    error,
                    sent,
                    deadline,
                });
            }
            Err(CommitError::RolledBack(error)) => match lost.take() {
                None if DB::is_momentary(&error) && state.hold_on() => {}
                None => return Err(error),
                Some(found) if Instant::now() >= found.deadline => {
                    return Err(Error::CommitUnknown(found.error.into()));
                }
                Some(found) => lost = Some(found),
            },
        }
        if lost.is_some() {
            state.pause = Some(LOOK_AGAIN);
        }
    }
}

async fn once<DB: LeaseBackend>(
    pool: &Pool<DB>,
    ask: &Ask,
    terms: &Terms<'_>,
    sent: &mut Instant,
) -> Result<Result<i32, Decision>, CommitError> {
    let mut lent = Lent::from(pool).await.map_err(CommitError::RolledBack)?;
    *sent = Instant::now();
    let answer = leased::claim(&mut *lent.conn, ask, terms).await;
    lent.give_back(answer.is_ok()).await;
    answer
}

/// Whether to ask again, because another attempt is in flight.
fn may_wait(
    decision: &Decision,
    lost: Option<&Lost>,
    request: &Request,
    state: &mut State,
) -> bool {
    if !matches!(decision, Decision::Refuse(Error::InFlight { .. })) {
        return false;
    }
    if let Some(lost) = lost {
        return Instant::now() < lost.deadline;
    }
    match request.operation().policy().on_conflict {
        OnConflict::Wait(wait) => state.wait(wait),
        OnConflict::Reject => false,
    }
}
