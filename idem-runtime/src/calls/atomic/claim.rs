//! Claims a key: begins the transaction, looks the record up, decides, and prepares for the body.

use std::borrow::Cow;
use std::mem;
use std::time::Duration;

use sqlx::Transaction;
use sqlx_core::transaction::TransactionManager as _;

use super::unit::{State, Unit};
use crate::calls::kit::pooled_conn::MAX_DIRTY_CONNECTIONS;
use crate::calls::kit::request::Request;
use crate::decision::{Decision, decide};
use crate::stores::running::RunningKey;
use crate::stores::{Backend, ClaimLookup, ClaimRequest, FusedFallback, HeldClaim, Session};
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::policy::OnConflict;
use crate::values::record::AttemptId;
use crate::values::spec::OperationSpec;

/// The right to run the body once, with the transaction to run it in.
pub struct Claim<'u, DB: Backend> {
    pub(super) tx: Transaction<'u, DB>,
    pub(super) state: &'u mut State,
    /// Whether the library sent BEGIN and sends COMMIT.
    pub(super) own: bool,
    /// The driver's transaction depth of `tx`.
    pub(super) depth: usize,
    /// The claim, or `None` for a call without a key.
    pub(super) held: Option<HeldClaim>,
    /// The attempt of the reclaimable record that the new record replaces.
    pub(super) replaces: Option<AttemptId>,
    pub(super) attempt: i32,
    pub(super) request_snapshot: RequestSnapshot,
}

impl<'u, DB: Backend> Claim<'u, DB> {
    /// Creates a claim on a transaction just begun, with no key claimed yet.
    fn on(
        tx: Transaction<'u, DB>,
        state: &'u mut State,
        own: bool,
        request_snapshot: RequestSnapshot,
    ) -> Self {
        Self {
            depth: depth::<DB>(&tx),
            tx,
            state,
            own,
            held: None,
            replaces: None,
            attempt: 1,
            request_snapshot,
        }
    }
}

/// What the record will hold of the request, fixed before the body runs.
pub(super) struct RequestSnapshot {
    pub(super) operation: OperationSpec,
    /// The operation's name in this call.
    pub(super) name: Cow<'static, str>,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) request: Option<Vec<u8>>,
}

impl RequestSnapshot {
    fn of(request: &Request) -> Self {
        Self {
            operation: *request.operation(),
            name: request.name().clone(),
            fingerprint: request.fingerprint(),
            request: request.recorded_request().map(<[u8]>::to_vec),
        }
    }
}

/// The result of one attempt to claim.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once, at once: a box would cost each run an allocation"
)]
pub(super) enum ClaimOutcome<'u, DB: Backend> {
    Claimed(Claim<'u, DB>),
    Decided(Decision),
    /// Try again; the unit's state holds the pause before it.
    Again,
}

/// Tries once to claim the key.
pub(super) async fn try_claim<'u, DB: Backend>(
    unit: &'u mut Unit<'_, DB>,
    request: &mut Request,
    recording: bool,
) -> Result<ClaimOutcome<'u, DB>, Error> {
    recover(unit).await?;
    let identity = request.settle()?.cloned();
    let operation = *request.operation();
    let wait_limit = wait_limit(&operation).filter(|_| identity.is_some());
    let pool_traits = unit
        .pool()
        .map(DB::pool_traits)
        .transpose()?
        .unwrap_or_default();
    unit.state.irreplaceable = pool_traits.ends_with_connections;
    let fused_fallback = unit.state.fused_fallback.take();
    let table = operation.table_name();
    let known = &mut unit.state.lock_key;
    let mut claim_request = identity.map(|identity| {
        let lock_key = *known.get_or_insert_with(|| identity.lock_key(table));
        ClaimRequest {
            pool_traits,
            fused_fallback,
            ..ClaimRequest::with_lock_key(table, identity, lock_key)
        }
    });

    let (conn, state, pool) = unit.connect().await.map_err(DB::map_error)?;
    let pooled = pool.is_some();
    if pooled && conn.has_transaction() && !discard_dirty::<DB>(conn, state).await? {
        return Ok(ClaimOutcome::Again);
    }
    let own = !conn.has_transaction();
    let mut running = None;
    if own && let Some(claim_request) = &mut claim_request {
        match DB::look_up_before_begin(conn, claim_request).await {
            Ok(None) => {}
            Ok(Some(found)) => {
                claim_request.pool_traits.database_path = found
                    .database_path
                    .clone()
                    .or(claim_request.pool_traits.database_path.take());
                let (lookup, held) = found.split(claim_request.clone());
                match decide(lookup, request.decide_input()) {
                    Decision::Run { replaces, .. } => {
                        claim_request.found_reclaimable = replaces.is_some();
                        running = held.running;
                    }
                    decision => {
                        state.close_on_drop = false;
                        return Ok(wait_or(decision, state, &operation));
                    }
                }
            }
            Err(error) if tries_again::<DB>(&error, own, state, wait_limit) => {
                return Ok(ClaimOutcome::Again);
            }
            Err(error) => return Err(error),
        }
    }
    state.close_on_drop = own;
    let request_snapshot = RequestSnapshot::of(request);
    if let Some(claim_request) = &claim_request
        && own
        && pooled
        && claim_request.pool_traits.fuses
        && matches!(fused_fallback, None | Some(FusedFallback::Unprepared))
    {
        return match DB::open_fresh(conn, claim_request, recording).await {
            Ok((tx, held)) => Ok(ClaimOutcome::Claimed(Claim {
                held: Some(held),
                ..Claim::on(tx, state, own, request_snapshot)
            })),
            // The connection is closed on drop until the transaction begun on it has ended; the
            // next attempt does that first.
            Err(Ok(again)) => {
                state.fused_fallback = Some(next_fallback(fused_fallback, again));
                Ok(ClaimOutcome::Again)
            }
            Err(Err(error)) => Err(error),
        };
    }
    let begun = begin_unit::<DB>(conn, claim_request.as_ref(), own).await;
    let (tx, found) = match begun {
        Ok(begun) => begun,
        Err(error) if own && tries_again::<DB>(&error, own, state, wait_limit) => {
            state.begin_unresolved = true;
            return Ok(ClaimOutcome::Again);
        }
        Err(error) if own && !pooled => {
            // The connection belongs to the caller: the next attempt ends the transaction on it
            // before it returns the error.
            state.begin_unresolved = true;
            state.failed = Some(error);
            return Ok(ClaimOutcome::Again);
        }
        Err(error) => return Err(error),
    };
    state.close_on_drop = own && pooled;

    let claim = Claim::on(tx, state, own, request_snapshot);
    match claim_request.zip(found) {
        Some((claim_request, found)) => {
            look_and_decide(claim, claim_request, found, running, request, recording).await
        }
        None => Ok(ClaimOutcome::Claimed(claim)),
    }
}

/// Begins the unit of work, and claims in it if the call has a key.
async fn begin_unit<'c, DB: Backend>(
    conn: &'c mut DB::Connection,
    claim_request: Option<&ClaimRequest>,
    own: bool,
) -> Result<(Transaction<'c, DB>, Option<Result<ClaimLookup, Error>>), Error> {
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

/// Returns why the next attempt must not begin and claim in one message.
fn next_fallback(before: Option<FusedFallback>, now: FusedFallback) -> FusedFallback {
    match now {
        // A connection that does not know a statement after it was prepared there never will.
        FusedFallback::Unprepared if before.is_some() => FusedFallback::Unfit,
        now => now,
    }
}

/// Decides inside the transaction and prepares for the body.
async fn look_and_decide<'u, DB: Backend>(
    mut claim: Claim<'u, DB>,
    claim_request: ClaimRequest,
    found: Result<ClaimLookup, Error>,
    running: Option<RunningKey>,
    request: &Request,
    recording: bool,
) -> Result<ClaimOutcome<'u, DB>, Error> {
    let operation = claim.request_snapshot.operation;
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            roll_back(claim.tx, claim.state).await;
            // The body has not run, so the whole call may start again.
            let wait_limit = wait_limit(&operation);
            return if tries_again::<DB>(&error, claim.own, claim.state, wait_limit) {
                Ok(ClaimOutcome::Again)
            } else {
                Err(error)
            };
        }
    };
    let (lookup, mut held) = found.split(claim_request);
    held.running = held.running.or(running);
    let decision = match decide(lookup, request.decide_input()) {
        Decision::Run { replaces, attempt } => {
            match prepare(&mut *claim.tx, &held, recording).await {
                Ok(()) => {
                    (claim.replaces, claim.attempt) = (replaces, attempt);
                    claim.held = Some(held);
                    return Ok(ClaimOutcome::Claimed(claim));
                }
                Err(refusal @ Error::InFlight { .. }) => Decision::Refuse(refusal),
                Err(error) => {
                    roll_back(claim.tx, claim.state).await;
                    return Err(error);
                }
            }
        }
        decision => decision,
    };
    roll_back(claim.tx, claim.state).await;
    Ok(wait_or(decision, claim.state, &operation))
}

/// Returns how long a call waits for the running attempt, or `None` if it does not wait.
fn wait_limit(operation: &OperationSpec) -> Option<Duration> {
    match operation.policy().on_conflict {
        OnConflict::Wait(wait) => Some(wait),
        OnConflict::Reject => None,
    }
}

/// Returns whether to try again after an error at the start of a unit of work, and sets the pause.
/// A call with `on_conflict = "wait"` also waits while the database is busy: the record of its key
/// may be locked by an open transaction of another caller.
fn tries_again<DB: Backend>(
    error: &Error,
    own: bool,
    state: &mut State,
    wait_limit: Option<Duration>,
) -> bool {
    if matches!(error, Error::StatementsLost(_)) {
        // The body has not run, and the next attempt prepares the statements again.
        return !mem::replace(&mut state.statements_prepared_anew, true);
    }
    if DB::is_momentary(error) {
        // After this error the caller's own transaction may be rolled back, so only a transaction
        // of the library's is retried.
        return own
            && (state.backoff.retry_lock()
                || wait_limit.is_some_and(|wait| state.backoff.wait(wait)));
    }
    matches!(error, Error::Busy(_)) && wait_limit.is_some_and(|wait| state.backoff.wait(wait))
}

/// Handles a pooled connection that is inside a transaction which other code left open. If the call
/// joined that transaction, it would return a result that is never committed. Returns whether the
/// connection is usable now; if not, it is closed and the next attempt takes another.
async fn discard_dirty<DB: Backend>(
    conn: &mut DB::Connection,
    state: &mut State,
) -> Result<bool, Error> {
    if !state.irreplaceable {
        state.close_on_drop = true;
        state.dirty_connections += 1;
        if state.dirty_connections > MAX_DIRTY_CONNECTIONS {
            // The pool creates its connections inside a transaction (`after_connect`): the next
            // connection would be the same.
            return Err(Error::AlreadyInTransaction);
        }
        state.backoff.schedule(Duration::ZERO);
        return Ok(false);
    }
    DB::clear(conn).await;
    if conn.has_transaction() {
        return Err(Error::AlreadyInTransaction);
    }
    Ok(true)
}

/// Finishes the previous attempt: ends a transaction left on the connection, returns a stored
/// error, or waits without a connection.
async fn recover<DB: Backend>(unit: &mut Unit<'_, DB>) -> Result<(), Error> {
    if unit.state.begin_unresolved {
        let (conn, ..) = unit.connect().await.map_err(DB::map_error)?;
        DB::clear(conn).await;
        unit.state.begin_unresolved = false;
        unit.state.close_on_drop = false;
    }
    if let Some(error) = unit.state.failed.take() {
        return Err(error);
    }
    if let Some(pause) = unit.state.backoff.next_pause() {
        unit.release_connection();
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Verifies the table if needed and sets the savepoint before the body.
async fn prepare<S: Session>(conn: &mut S, held: &HeldClaim, recording: bool) -> Result<(), Error> {
    if !held.verified {
        conn.verify(held).await?;
    }
    conn.set_savepoint(held, recording).await
}

fn wait_or<'u, DB: Backend>(
    decision: Decision,
    state: &mut State,
    operation: &OperationSpec,
) -> ClaimOutcome<'u, DB> {
    match (&decision, operation.policy().on_conflict) {
        (Decision::Refuse(Error::InFlight { .. }), OnConflict::Wait(wait))
            if state.backoff.wait(wait) =>
        {
            ClaimOutcome::Again
        }
        _ => ClaimOutcome::Decided(decision),
    }
}

/// Returns the number of open transactions and savepoints that the driver counts on a connection.
pub(super) fn depth<DB: Backend>(conn: &DB::Connection) -> usize {
    DB::TransactionManager::get_transaction_depth(conn)
}

/// Rolls the transaction back at once, because dropping it only queues the ROLLBACK. The connection
/// is still closed on drop if this fails, or if it ended only a savepoint that a body left open.
/// Returns whether the ROLLBACK (or, in the caller's transaction, ROLLBACK TO SAVEPOINT) succeeded.
pub(super) async fn roll_back<DB: Backend>(tx: Transaction<'_, DB>, state: &mut State) -> bool {
    let outermost = depth::<DB>(&tx) <= 1;
    let rolled_back = DB::roll_back(tx).await.is_ok();
    if rolled_back && outermost {
        state.close_on_drop = false;
    }
    rolled_back
}
