//! Claiming: begin a unit of work, look, decide, and make ready for the body.

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

/// The right to run one body, and the transaction to run it in.
pub struct Claim<'u, DB: Backend> {
    pub(super) tx: Transaction<'u, DB>,
    pub(super) state: &'u mut State,
    /// Whether BEGIN and COMMIT are ours.
    pub(super) own: bool,
    /// How deep in the driver's count of transactions it is.
    pub(super) depth: usize,
    /// `None`: a call without a key.
    pub(super) held: Option<Held>,
    /// The spent record whose place ours takes.
    pub(super) replaces: Option<AttemptId>,
    pub(super) attempt: i32,
    pub(super) sheet: Sheet,
}

impl<'u, DB: Backend> Claim<'u, DB> {
    /// A unit of work just begun, in which nothing is claimed yet.
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

/// What will be written of the request, fixed before the body can change anything.
pub(super) struct Sheet {
    pub(super) operation: Operation,
    /// The operation's name in this call.
    pub(super) name: Cow<'static, str>,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) request: Option<Vec<u8>>,
}

/// What an attempt to claim came to.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once, at once: a box would cost each run an allocation"
)]
pub(super) enum Attempt<'u, DB: Backend> {
    Claimed(Claim<'u, DB>),
    Decided(Decision),
    /// Ask again; the unit's state says after what.
    Again,
}

/// One attempt to claim.
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
            // The connection stays armed until what was begun on it is ended: first thing there.
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
            // The connection is the caller's: the next step hands it back outside any transaction.
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

/// Why the next attempt does not go the short way.
fn next_decline(before: Option<Declined>, now: Declined) -> Declined {
    match now {
        // What a connection does not know after it was told, it never will.
        Declined::Unprepared if before.is_some() => Declined::Unfit,
        now => now,
    }
}

/// In the transaction: what claiming showed, what it means, and the last steps before the body.
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
            // The body has not run: all of it may begin again.
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

/// How long a call waits for the attempt in flight, if at all.
fn patience(operation: &Operation) -> Option<Duration> {
    match operation.policy().on_conflict {
        OnConflict::Wait(wait) => Some(wait),
        OnConflict::Reject => None,
    }
}

/// Whether to ask again after an error at the beginning of a unit; arranges the pause. Where a call
/// waits for the attempt in flight, other writers are waited for as well: what keeps a key's record
/// from view may be an open transaction of the caller's, and all that shows of it is that the
/// database is busy.
fn comes_again<DB: Backend>(
    error: &Error,
    own: bool,
    state: &mut State,
    patience: Option<Duration>,
) -> bool {
    if matches!(error, Error::StatementsLost(_)) {
        // The body has not run, and the next attempt prepares them anew.
        return !mem::replace(&mut state.renewed, true);
    }
    if DB::is_momentary(error) {
        // Of a caller's transaction nothing may be left.
        return own && (state.hold_on() || patience.is_some_and(|wait| state.wait(wait)));
    }
    matches!(error, Error::Busy(_)) && patience.is_some_and(|wait| state.wait(wait))
}

/// Rids a pooled connection of a transaction that somebody forgot on it: joined, this call would be
/// answered and never committed. Says whether it is fit now; if not, another takes its place.
async fn rid<DB: Backend>(conn: &mut DB::Connection, state: &mut State) -> Result<bool, Error> {
    if !state.irreplaceable {
        state.armed = true;
        state.unfit += 1;
        if state.unfit > UNFIT_AT_MOST {
            // They are made so (a pool's `after_connect`): the next would be no better.
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

/// What the last attempt left to do: hand a connection back, or wait without one.
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

/// The last steps before the body.
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

/// How many transactions and savepoints of the driver's are open on a connection.
pub(super) fn depth<DB: Backend>(conn: &DB::Connection) -> usize {
    DB::TransactionManager::get_transaction_depth(conn)
}

/// Ends the transaction at once: a dropped one only queues its ROLLBACK. If this fails, or what it
/// ended was only a savepoint that a body left, the unit stays armed. Says whether there was a transaction,
/// or a savepoint in the caller's, to roll back to.
pub(super) async fn roll_back<DB: Backend>(tx: Transaction<'_, DB>, state: &mut State) -> bool {
    let outermost = depth::<DB>(&tx) <= 1;
    let rolled_back = DB::roll_back(tx).await.is_ok();
    if rolled_back && outermost {
        state.armed = false;
    }
    rolled_back
}
