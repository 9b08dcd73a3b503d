//! Claims a key: looks the record up, begins the transaction, decides, and prepares for the body.
//!
//! [`try_claim`] has one function for each phase. Pool hygiene is in `connection`, and `retry` says
//! whether an error or a decision leads to another attempt.

use sqlx::Transaction;

use super::claim::Claim;
use super::connection::{ConnectionGuard, ConnectionState};
use super::retry::{NotClaimed, Retries, Retry};
use super::rollback::roll_back;
use crate::calls::kit::request::Request;
use crate::decision::{Decision, decide};
use crate::stores::running::RunningKey;
use crate::stores::{Backend, ClaimLookup, ClaimRequest, FusedFallback, HeldClaim, Session};
use crate::values::error::Error;

/// Tries once to claim the key. Returns a claim if the body is to run.
pub(super) async fn try_claim<'u, DB: Backend>(
    connection: &'u mut ConnectionGuard<'_, DB>,
    retries: &mut Retries,
    request: &mut Request,
    recording: bool,
) -> Result<Claim<'u, DB>, NotClaimed> {
    let fallback = retries.resume(connection).await?;
    let mut claim_request = new_claim_request(connection, request, fallback)?;
    if !connection.is_clean().await? {
        return Err(NotClaimed::Again(Retry::DirtyConnection));
    }
    let pooled = connection.is_pooled();
    let (conn, state) = connection.connect().await.map_err(DB::map_error)?;
    let own = !conn.has_transaction();
    let running = match &mut claim_request {
        Some(claim_request) if own => {
            look_up_before_begin::<DB>(conn, state, claim_request, request, retries).await?
        }
        _ => None,
    };
    state.set_close_on_drop(own);
    if let Some(claim_request) = claim_request.as_ref().filter(|_| own && pooled)
        && may_begin_fused(claim_request)
    {
        let (tx, held) = begin_fused::<DB>(conn, claim_request, recording).await?;
        return Ok(Claim::on(tx, state, own, request).holding(held));
    }
    let (tx, found) = match begin::<DB>(conn, claim_request.as_ref(), own).await {
        Ok(begun) => begun,
        Err(error) if own => {
            return Err(begin_failed::<DB>(error, pooled, state, request, retries));
        }
        Err(error) => return Err(error.into()),
    };
    state.set_close_on_drop(own && pooled);
    let claim = Claim::on(tx, state, own, request);
    match claim_request.zip(found) {
        Some((claim_request, found)) => {
            decide_in_transaction(
                claim,
                claim_request,
                found,
                running,
                request,
                recording,
                retries,
            )
            .await
        }
        None => Ok(claim),
    }
}

/// Returns the request of a new attempt, or `None` for a call without a key.
fn new_claim_request<DB: Backend>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &mut Request,
    fused_fallback: Option<FusedFallback>,
) -> Result<Option<ClaimRequest>, Error> {
    let claim_request = request.claim_request()?;
    let pool_traits = connection.pool_traits()?;
    Ok(claim_request.map(|claim_request| ClaimRequest {
        pool_traits,
        fused_fallback,
        ..claim_request
    }))
}

/// Looks the record up where beginning a transaction would wait for other keys. Returns the key that
/// now runs in this process, if the database has no lock for it.
async fn look_up_before_begin<DB: Backend>(
    conn: &mut DB::Connection,
    state: &mut ConnectionState,
    claim_request: &mut ClaimRequest,
    request: &Request,
    retries: &mut Retries,
) -> Result<Option<RunningKey>, NotClaimed> {
    let found = match DB::look_up_before_begin(conn, claim_request).await {
        Ok(None) => return Ok(None),
        Ok(Some(found)) => found,
        Err(error) => return Err(retries.after_error::<DB>(error, true, request)),
    };
    if let Some(path) = &found.database_path {
        claim_request.pool_traits.database_path = Some(path.clone());
    }
    let (lookup, held) = found.split(claim_request.clone());
    match decide(lookup, request.decide_input()) {
        Decision::Run { replaces, .. } => {
            claim_request.found_reclaimable = replaces.is_some();
            Ok(held.running)
        }
        decision => {
            state.set_close_on_drop(false);
            Err(retries.after_decision(decision, request))
        }
    }
}

/// Returns whether to begin and claim in one message.
fn may_begin_fused(claim_request: &ClaimRequest) -> bool {
    claim_request.pool_traits.fuses
        && matches!(
            claim_request.fused_fallback,
            None | Some(FusedFallback::Unprepared)
        )
}

/// Begins the unit of work and claims in it, in one message.
async fn begin_fused<'c, DB: Backend>(
    conn: &'c mut DB::Connection,
    claim_request: &ClaimRequest,
    recording: bool,
) -> Result<(Transaction<'c, DB>, HeldClaim), NotClaimed> {
    match DB::open_fresh(conn, claim_request, recording).await {
        Ok(begun) => Ok(begun),
        // The connection is closed on drop until the transaction begun on it has ended; the next
        // attempt does that first.
        Err(Ok(fallback)) => {
            let fallback = next_fallback(claim_request.fused_fallback, fallback);
            Err(NotClaimed::Again(Retry::NotFused(fallback)))
        }
        Err(Err(error)) => Err(error.into()),
    }
}

/// Returns why the next attempt must not begin and claim in one message.
fn next_fallback(before: Option<FusedFallback>, now: FusedFallback) -> FusedFallback {
    match now {
        // A connection that does not know a statement after it was prepared there never will.
        FusedFallback::Unprepared if before.is_some() => FusedFallback::Unfit,
        now => now,
    }
}

/// A unit of work, and what claiming in it showed if the call has a key.
type Begun<'c, DB> = (Transaction<'c, DB>, Option<Result<ClaimLookup, Error>>);

/// Begins the unit of work, and claims in it if the call has a key.
async fn begin<'c, DB: Backend>(
    conn: &'c mut DB::Connection,
    claim_request: Option<&ClaimRequest>,
    own: bool,
) -> Result<Begun<'c, DB>, Error> {
    Ok(match (claim_request, own) {
        (Some(claim_request), true) => {
            let (tx, found) = DB::open(conn, claim_request).await?;
            (tx, Some(found))
        }
        (None, true) => (DB::open_plain(conn).await?, None),
        (Some(claim_request), false) => {
            let (tx, found) = DB::join(conn, claim_request).await?;
            (tx, Some(found))
        }
        (None, false) => (DB::join_plain(conn).await?, None),
    })
}

/// Returns what to do after the library's own BEGIN failed. It may have left a transaction on the
/// connection: unless the connection is closed, the next attempt ends that transaction first.
fn begin_failed<DB: Backend>(
    error: Error,
    pooled: bool,
    state: &mut ConnectionState,
    request: &Request,
    retries: &mut Retries,
) -> NotClaimed {
    let retry = match retries.after_error::<DB>(error, true, request) {
        NotClaimed::Failed(error) if !pooled => Retry::BeginFailed(error),
        NotClaimed::Again(retry) => retry,
        other => return other,
    };
    state.set_begin_unresolved();
    NotClaimed::Again(retry)
}

/// Decides inside the transaction and prepares for the body.
async fn decide_in_transaction<'u, DB: Backend>(
    mut claim: Claim<'u, DB>,
    claim_request: ClaimRequest,
    found: Result<ClaimLookup, Error>,
    running: Option<RunningKey>,
    request: &Request,
    recording: bool,
    retries: &mut Retries,
) -> Result<Claim<'u, DB>, NotClaimed> {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            roll_back(claim.tx, claim.state).await;
            // The body has not run, so the whole call may start again.
            return Err(retries.after_error::<DB>(error, claim.own, request));
        }
    };
    let (lookup, mut held) = found.split(claim_request);
    held.running = held.running.or(running);
    let stopped = match decide(lookup, request.decide_input()) {
        Decision::Run { replaces, attempt } => {
            match prepare(&mut *claim.tx, &held, recording).await {
                Ok(()) => {
                    (claim.replaces, claim.attempt) = (replaces, attempt);
                    return Ok(claim.holding(held));
                }
                Err(refusal @ Error::InFlight { .. }) => Ok(Decision::Refuse(refusal)),
                Err(error) => Err(error),
            }
        }
        decision => Ok(decision),
    };
    roll_back(claim.tx, claim.state).await;
    Err(retries.after_decision(stopped?, request))
}

/// Verifies the table if needed and sets the savepoint before the body.
async fn prepare<S: Session>(conn: &mut S, held: &HeldClaim, recording: bool) -> Result<(), Error> {
    if !held.verified {
        conn.verify(held).await?;
    }
    conn.set_savepoint(held, recording).await
}
