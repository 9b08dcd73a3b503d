//! Claims a key: begins the transaction, looks the record up, decides, and prepares for the body.

use std::borrow::Cow;
use std::mem;
use std::time::Duration;

use sqlx::Transaction;
use sqlx_core::transaction::TransactionManager as _;

use super::request::Request;
use super::unit::{State, UNFIT_AT_MOST, Unit};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::outcome::{Decision, decide};
use crate::policy::OnConflict;
use crate::record::AttemptId;
use crate::spec::Operation;
use crate::store::running::Running;
use crate::store::{Ask, Backend, Declined, Held, Seen, Session};

/// The right to run the body once, with the transaction to run it in.
pub struct Claim<'u, DB: Backend> {
    pub(super) tx: Transaction<'u, DB>,
    pub(super) state: &'u mut State,
    /// Whether the library sent BEGIN and sends COMMIT.
    pub(super) own: bool,
    /// The driver's transaction depth of `tx`.
    pub(super) depth: usize,
    /// The claim, or `None` for a call without a key.
    pub(super) held: Option<Held>,
    /// The attempt of the reclaimable record that the new record replaces.
    pub(super) replaces: Option<AttemptId>,
    pub(super) attempt: i32,
    pub(super) sheet: Sheet,
}

impl<'u, DB: Backend> Claim<'u, DB> {
    /// Creates a claim on a transaction just begun, with no key claimed yet.
    fn on(tx: Transaction<'u, DB>, state: &'u mut State, own: bool, sheet: Sheet) -> Self {
        Self {
            depth: depth::<DB>(&tx),
            tx,
            state,
            own,
            held: None,
            replaces: None,
            attempt: 1,
            sheet,
        }
    }
}

/// What the record will hold of the request, fixed before the body runs.
pub(super) struct Sheet {
    pub(super) operation: Operation,
    /// The operation's name in this call.
    pub(super) name: Cow<'static, str>,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) request: Option<Vec<u8>>,
}

/// The result of one attempt to claim.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once, at once: a box would cost each run an allocation"
)]
pub(super) enum Attempt<'u, DB: Backend> {
    Claimed(Claim<'u, DB>),
    Decided(Decision),
    /// Try again; the unit's state holds the pause before it.
    Again,
}

/// Tries once to claim the key.
pub(super) async fn attempt<'u, DB: Backend>(
    unit: &'u mut Unit<'_, DB>,
    request: &mut Request,
    recording: bool,
) -> Result<Attempt<'u, DB>, Error> {
    before(unit).await?;
    let identity = request.settle()?.cloned();
    let operation = *request.operation();
    let patience = patience(&operation).filter(|_| identity.is_some());
    let home = unit.pool().map(DB::home).transpose()?.unwrap_or_default();
    unit.state.irreplaceable = home.ends_with_connections;
    let declined = unit.state.declined.take();
    let table = operation.table_name();
    let known = &mut unit.state.mark;
    let mut ask = identity.map(|identity| {
        let mark = *known.get_or_insert_with(|| identity.mark(table));
        Ask {
            home,
            declined,
            ..Ask::marked(table, identity, mark)
        }
    });

    let (conn, state, pool) = unit.connect().await.map_err(DB::fold)?;
    let pooled = pool.is_some();
    if pooled && conn.has_transaction() && !rid::<DB>(conn, state).await? {
        return Ok(Attempt::Again);
    }
    let own = !conn.has_transaction();
    let mut running = None;
    if own && let Some(ask) = &mut ask {
        match DB::peek(conn, ask).await {
            Ok(None) => {}
            Ok(Some(seen)) => {
                ask.home.name = seen.home.clone().or(ask.home.name.take());
                let (sighting, held) = seen.split(ask.clone());
                match decide(sighting, request.question()) {
                    Decision::Run { replaces, .. } => {
                        ask.met = replaces.is_some();
                        running = held.running;
                    }
                    decision => {
                        state.armed = false;
                        return Ok(wait_or(decision, state, &operation));
                    }
                }
            }
            Err(error) if comes_again::<DB>(&error, own, state, patience) => {
                return Ok(Attempt::Again);
            }
            Err(error) => return Err(error),
        }
    }
    state.armed = own;
    let sheet = Sheet {
        operation,
        name: request.name().clone(),
        fingerprint: request.fingerprint(),
        request: request.recorded_request().map(<[u8]>::to_vec),
    };
    if let Some(ask) = &ask
        && own
        && pooled
        && ask.home.fuses
        && matches!(declined, None | Some(Declined::Unprepared))
    {
        return match DB::open_fresh(conn, ask, recording).await {
            Ok((tx, held)) => Ok(Attempt::Claimed(Claim {
                held: Some(held),
                ..Claim::on(tx, state, own, sheet)
            })),
            // The connection is closed on drop until the transaction begun on it has ended; the
            // next attempt does that first.
            Err(Ok(again)) => {
                state.declined = Some(next_decline(declined, again));
                Ok(Attempt::Again)
            }
            Err(Err(error)) => Err(error),
        };
    }
    let begun = match (&ask, own) {
        (Some(ask), true) => DB::open(conn, ask).await.map(|(tx, seen)| (tx, Some(seen))),
        (None, true) => DB::open_plain(conn).await.map(|tx| (tx, None)),
        (Some(ask), false) => DB::join(conn, ask).await.map(|(tx, seen)| (tx, Some(seen))),
        (None, false) => DB::savepoint(conn).await.map(|tx| (tx, None)),
    };
    let (tx, seen) = match begun {
        Ok(begun) => begun,
        Err(error) if own && comes_again::<DB>(&error, own, state, patience) => {
            state.unclear = true;
            return Ok(Attempt::Again);
        }
        Err(error) if own && !pooled => {
            // The connection belongs to the caller: the next attempt ends the transaction on it
            // before it returns the error.
            state.unclear = true;
            state.failed = Some(error);
            return Ok(Attempt::Again);
        }
        Err(error) => return Err(error),
    };
    state.armed = own && pooled;

    let claim = Claim::on(tx, state, own, sheet);
    match ask.zip(seen) {
        Some((ask, seen)) => look_and_decide(claim, ask, seen, running, request, recording).await,
        None => Ok(Attempt::Claimed(claim)),
    }
}

/// Returns why the next attempt must not begin and claim in one message.
fn next_decline(before: Option<Declined>, now: Declined) -> Declined {
    match now {
        // A connection that does not know a statement after it was prepared there never will.
        Declined::Unprepared if before.is_some() => Declined::Unfit,
        now => now,
    }
}

/// Decides inside the transaction and prepares for the body.
async fn look_and_decide<'u, DB: Backend>(
    mut claim: Claim<'u, DB>,
    ask: Ask,
    seen: Result<Seen, Error>,
    running: Option<Running>,
    request: &Request,
    recording: bool,
) -> Result<Attempt<'u, DB>, Error> {
    let operation = claim.sheet.operation;
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            roll_back(claim.tx, claim.state).await;
            // The body has not run, so the whole call may start again.
            let patience = patience(&operation);
            return if comes_again::<DB>(&error, claim.own, claim.state, patience) {
                Ok(Attempt::Again)
            } else {
                Err(error)
            };
        }
    };
    let (sighting, mut held) = seen.split(ask);
    held.running = held.running.or(running);
    let decision = match decide(sighting, request.question()) {
        Decision::Run { replaces, attempt } => {
            match prepare(&mut *claim.tx, &held, recording).await {
                Ok(()) => {
                    (claim.replaces, claim.attempt) = (replaces, attempt);
                    claim.held = Some(held);
                    return Ok(Attempt::Claimed(claim));
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
fn patience(operation: &Operation) -> Option<Duration> {
    match operation.policy().on_conflict {
        OnConflict::Wait(wait) => Some(wait),
        OnConflict::Reject => None,
    }
}

/// Returns whether to try again after an error at the start of a unit of work, and sets the pause.
/// A call with `on_conflict = "wait"` also waits while the database is busy: the record of its key
/// may be locked by an open transaction of another caller.
fn comes_again<DB: Backend>(
    error: &Error,
    own: bool,
    state: &mut State,
    patience: Option<Duration>,
) -> bool {
    if matches!(error, Error::StatementsLost(_)) {
        // The body has not run, and the next attempt prepares the statements again.
        return !mem::replace(&mut state.renewed, true);
    }
    if DB::is_momentary(error) {
        // After this error the caller's own transaction may be rolled back, so only a transaction
        // of the library's is retried.
        return own && (state.hold_on() || patience.is_some_and(|wait| state.wait(wait)));
    }
    matches!(error, Error::Busy(_)) && patience.is_some_and(|wait| state.wait(wait))
}

/// Handles a pooled connection that is inside a transaction which other code left open. If the call
/// joined that transaction, it would return a result that is never committed. Returns whether the
/// connection is usable now; if not, it is closed and the next attempt takes another.
async fn rid<DB: Backend>(conn: &mut DB::Connection, state: &mut State) -> Result<bool, Error> {
    if !state.irreplaceable {
        state.armed = true;
        state.unfit += 1;
        if state.unfit > UNFIT_AT_MOST {
            // The pool creates its connections inside a transaction (`after_connect`): the next
            // connection would be the same.
            return Err(Error::AlreadyInTransaction);
        }
        state.pause = Some(Duration::ZERO);
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
async fn before<DB: Backend>(unit: &mut Unit<'_, DB>) -> Result<(), Error> {
    if unit.state.unclear {
        let (conn, ..) = unit.connect().await.map_err(DB::fold)?;
        DB::clear(conn).await;
        unit.state.unclear = false;
        unit.state.armed = false;
    }
    if let Some(error) = unit.state.failed.take() {
        return Err(error);
    }
    if let Some(pause) = unit.state.pause.take() {
        unit.part();
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Verifies the table if needed and sets the savepoint before the body.
async fn prepare<S: Session>(conn: &mut S, held: &Held, recording: bool) -> Result<(), Error> {
    if !held.verified {
        conn.verify(held).await?;
    }
    conn.mark(held, recording).await
}

fn wait_or<'u, DB: Backend>(
    decision: Decision,
    state: &mut State,
    operation: &Operation,
) -> Attempt<'u, DB> {
    match (&decision, operation.policy().on_conflict) {
        (Decision::Refuse(Error::InFlight { .. }), OnConflict::Wait(wait)) if state.wait(wait) => {
            Attempt::Again
        }
        _ => Attempt::Decided(decision),
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
        state.armed = false;
    }
    rolled_back
}
