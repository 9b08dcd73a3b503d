//! Claims a lease: waits if the policy says so, and resolves a lost answer.

use std::time::Duration;

use sqlx::Pool;
use tokio::time::{Instant, sleep, timeout_at};

use super::request::TakesOver;
use crate::calls::kit::backoff::{Backoff, RESOLVE_WITHIN};
use crate::calls::kit::pooled_conn::PooledConn;
use crate::calls::kit::request::Request;
use crate::calls::kit::waiters::{self, Shown, Waited, Waiting};
use crate::decision::{Decision, KeyBefore};
use crate::stores::lease::{LeaseBackend, LeaseRequest};
use crate::stores::leased::{self, LeaseAnswer};
use crate::stores::{ClaimRequest, CommitError, PoolTraitsOf};
use crate::values::codec::{Binding, Column};
use crate::values::error::Error;
use crate::values::policy::{DEFAULT_RETRY_AFTER, Lease, OnConflict};

/// The pause before a lost answer is looked up again: 20 ms.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A lease that this attempt has claimed.
pub(super) struct Claimed {
    /// The number of this attempt of the key, from 1.
    pub(super) attempt: i32,
    /// What the key was before.
    pub(super) before: KeyBefore,
    /// When the lease ends, by this process's clock; never later than in the database.
    pub(super) until: Instant,
}

/// The answer to one claim. `sent` is when the claim was sent: the lease began no earlier. Waiting
/// for a connection before does not shorten the lease.
enum ClaimAnswer {
    Claimed {
        attempt: i32,
        before: KeyBefore,
        sent: Instant,
    },
    Decided(Decision),
    /// The claim may have been executed.
    Lost {
        error: sqlx::Error,
        sent: Instant,
    },
    Failed(Error),
}

/// Claims the lease.
///
/// # Errors
/// The decision if it is not to run the body; a failure is a decision to refuse.
pub(super) async fn claim<DB: LeaseBackend>(
    pool: &Pool<DB>,
    request: &Request,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
    (lease, takes_over): (Lease, Option<TakesOver>),
    backoff: &mut Backoff,
) -> Result<Claimed, Decision> {
    let binding = Binding {
        identity: &claim_request.identity,
        operation: request.name(),
    };
    let (call_codec, attempt_id) = (request.call_codec(), claim_request.attempt_id);
    let kept = match takes_over {
        // As long as it was: another build may have recorded it, with another limit.
        Some(_) => request.canonical(),
        None => request.kept_request(),
    };
    let kept = kept.map(|kept| call_codec.protect(binding, Column::Request, attempt_id, kept));
    let kept = kept.transpose().map_err(Decision::Refuse)?;
    let lease_request = LeaseRequest {
        input: request.decide_input(),
        lease,
        takes_over: takes_over.map(|takes_over| takes_over.lapsed),
        fingerprint: request.fingerprint(),
        format: call_codec.format(),
        request: kept.as_deref(),
    };
    let input = lease_request.for_attempt(claim_request.attempt_id).input;
    let wait = async |over, backoff: &mut Backoff, shown: &mut Shown| {
        let (deadline, waits) = match wait_until(request, backoff) {
            Some(deadline) => (deadline, backoff.waits()),
            None => return Err(Decision::Refuse(over)),
        };
        let waited = waiters::wait(Waiting {
            pool,
            claim_request,
            input,
            deadline,
            over,
            waits,
            shown,
        });
        match Box::pin(waited).await {
            Waited::Claim(turn) => Ok(turn),
            Waited::Over(over) => Err(Decision::Refuse(over)),
        }
    };
    let (mut turn, mut shown) = (None, Shown::default());
    if waits(request) && waiters::is_waited_for(pool, claim_request) {
        turn = wait(in_flight(), backoff, &mut shown).await?;
    }
    loop {
        let deadline = backoff.conflict_deadline();
        match claim_once(pool, claim_request, &lease_request, deadline).await {
            ClaimAnswer::Claimed {
                attempt,
                before,
                sent,
            } => {
                let until = sent + lease.duration();
                return Ok(Claimed {
                    attempt,
                    before,
                    until,
                });
            }
            ClaimAnswer::Decided(Decision::Refuse(over @ Error::InFlight { .. })) => {
                drop(turn.take());
                turn = wait(over, backoff, &mut shown).await?;
            }
            ClaimAnswer::Decided(decision) => return Err(decision),
            ClaimAnswer::Lost { error, sent } => {
                return resolve_lost(pool, claim_request, &lease_request, error, sent).await;
            }
            ClaimAnswer::Failed(error) => {
                let is_momentary = DB::is_momentary(&error);
                match is_momentary.then(|| backoff.retry_lock()).flatten() {
                    Some(pause) => sleep(pause).await,
                    None => return Err(Decision::Refuse(error)),
                }
            }
        }
    }
}

/// Claims again until it is known whether the claim whose answer was lost has been executed: the
/// same attempt gets its own lease.
async fn resolve_lost<DB: LeaseBackend>(
    pool: &Pool<DB>,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
    lease_request: &LeaseRequest<'_>,
    lost: sqlx::Error,
    sent: Instant,
) -> Result<Claimed, Decision> {
    let deadline = sent + RESOLVE_WITHIN;
    loop {
        sleep(LOOK_AGAIN).await;
        let answer = claim_once(pool, claim_request, lease_request, None);
        match timeout_at(deadline, answer).await {
            Ok(ClaimAnswer::Claimed {
                attempt, before, ..
            }) => {
                let until = sent + lease_request.lease.duration();
                return Ok(Claimed {
                    attempt,
                    before,
                    until,
                });
            }
            // While the transaction of the lost answer is still running, it holds the identity's
            // lock and the claim looks in flight.
            Ok(ClaimAnswer::Decided(Decision::Refuse(Error::InFlight { .. })))
                if Instant::now() < deadline => {}
            Ok(ClaimAnswer::Decided(decision)) => return Err(decision),
            Ok(ClaimAnswer::Lost { .. }) => {}
            Ok(ClaimAnswer::Failed(_)) | Err(_) => {
                if Instant::now() >= deadline {
                    return Err(Decision::Refuse(Error::CommitUnknown(lost.into())));
                }
            }
        }
    }
}

async fn claim_once<DB: LeaseBackend>(
    pool: &Pool<DB>,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
    lease_request: &LeaseRequest<'_>,
    deadline: Option<Instant>,
) -> ClaimAnswer {
    let acquired = PooledConn::from(pool);
    let acquired = match deadline {
        None => acquired.await,
        Some(deadline) => match timeout_at(deadline, acquired).await {
            Ok(acquired) => acquired,
            // The deadline has passed, so the call does not wait again.
            Err(_) => return ClaimAnswer::Decided(Decision::Refuse(in_flight())),
        },
    };
    let mut pooled = match acquired {
        Ok(pooled) => pooled,
        Err(error) => return ClaimAnswer::Failed(error),
    };
    let sent = Instant::now();
    let answer = leased::claim(&mut *pooled.conn, claim_request, lease_request).await;
    pooled.give_back(answer.is_ok()).await;
    match answer {
        Ok(LeaseAnswer::Claimed { attempt, before }) => ClaimAnswer::Claimed {
            attempt,
            before,
            sent,
        },
        Ok(LeaseAnswer::Decided(decision)) => ClaimAnswer::Decided(decision),
        Err(CommitError::Ambiguous(error)) => ClaimAnswer::Lost { error, sent },
        Err(CommitError::RolledBack(error)) => ClaimAnswer::Failed(error),
    }
}

/// Returns whether the call waits for an attempt in flight.
fn waits(request: &Request) -> bool {
    matches!(
        request.operation().policy().on_conflict,
        OnConflict::Wait(_)
    )
}

/// Returns when the call stops waiting for an attempt in flight, or `None` if it does not wait, or no
/// longer.
fn wait_until(request: &Request, backoff: &mut Backoff) -> Option<Instant> {
    match request.operation().policy().on_conflict {
        OnConflict::Wait(limit) => backoff.wait(limit),
        OnConflict::Reject => None,
    }
}

fn in_flight() -> Error {
    Error::in_flight(DEFAULT_RETRY_AFTER)
}
