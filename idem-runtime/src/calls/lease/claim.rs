//! Claims a lease: waits if the policy says so, and resolves a lost answer.

use std::time::Duration;

use sqlx::Pool;
use tokio::time::{Instant, sleep, timeout_at};

use crate::calls::kit::backoff::Backoff;
use crate::calls::kit::backoff::RESOLVE_WITHIN;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::calls::kit::request::Request;
use crate::decision::Decision;
use crate::stores::lease::{LeaseBackend, LeaseRequest};
use crate::stores::leased;
use crate::stores::{ClaimRequest, CommitError};
use crate::values::error::Error;
use crate::values::policy::{Lease, OnConflict};

/// The pause before a lost answer is looked up again: 20 ms.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A lease that this attempt has claimed.
pub(super) struct Claimed {
    /// The number of this attempt of the key, from 1.
    pub(super) attempt: i32,
    /// When the lease ends, by this process's clock; never later than in the database.
    pub(super) until: Instant,
}

/// A claim whose answer was lost.
struct Lost {
    error: sqlx::Error,
    /// When the claim was sent: if it was executed, its lease began no earlier.
    sent: Instant,
    deadline: Instant,
}

/// Claims the lease. Returns the decision if it is not to run the body.
pub(super) async fn claim<DB: LeaseBackend>(
    pool: &Pool<DB>,
    request: &Request,
    claim_request: &ClaimRequest,
    lease: Lease,
    backoff: &mut Backoff,
) -> Result<Result<Claimed, Decision>, Error> {
    let lease_request = LeaseRequest {
        input: request.decide_input(),
        lease,
        fingerprint: request.fingerprint(),
        request: request.kept_request(),
    };
    let mut lost: Option<Lost> = None;
    loop {
        if let Some(pause) = backoff.next_pause() {
            sleep(pause).await;
        }
        // `once` moves this to the time at which it has a connection: waiting for one does not
        // shorten the lease.
        let mut sent = Instant::now();
        let asked = once(pool, claim_request, &lease_request, &mut sent);
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
            // While the transaction of a lost answer is still running, it holds the identity's lock
            // and the claim looks in flight.
            Ok(Err(decision)) if !may_wait(&decision, lost.as_ref(), request, backoff) => {
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
                None if DB::is_momentary(&error) && backoff.retry_lock() => {}
                None => return Err(error),
                Some(found) if Instant::now() >= found.deadline => {
                    return Err(Error::CommitUnknown(found.error.into()));
                }
                Some(found) => lost = Some(found),
            },
        }
        if lost.is_some() {
            backoff.schedule(LOOK_AGAIN);
        }
    }
}

async fn once<DB: LeaseBackend>(
    pool: &Pool<DB>,
    claim_request: &ClaimRequest,
    lease_request: &LeaseRequest<'_>,
    sent: &mut Instant,
) -> Result<Result<i32, Decision>, CommitError> {
    let mut pooled = PooledConn::from(pool)
        .await
        .map_err(CommitError::RolledBack)?;
    *sent = Instant::now();
    let answer = leased::claim(&mut *pooled.conn, claim_request, lease_request).await;
    pooled.give_back(answer.is_ok()).await;
    answer
}

/// Returns whether to try again because another attempt is in flight.
fn may_wait(
    decision: &Decision,
    lost: Option<&Lost>,
    request: &Request,
    backoff: &mut Backoff,
) -> bool {
    if !matches!(decision, Decision::Refuse(Error::InFlight { .. })) {
        return false;
    }
    if let Some(lost) = lost {
        return Instant::now() < lost.deadline;
    }
    match request.operation().policy().on_conflict {
        OnConflict::Wait(wait) => backoff.wait(wait),
        OnConflict::Reject => false,
    }
}
