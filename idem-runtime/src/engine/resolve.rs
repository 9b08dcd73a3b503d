//! What is settled after the claim: a rival's win, a failure seen from an old snapshot, a lost
//! COMMIT.

use std::mem;
use std::time::Duration;

use tokio::time::Instant;

use super::answer::Answer;
use super::request::Request;
use super::source::From;
use super::unit::{Unit, pause};
use crate::error::Error;
use crate::outcome::{Decision, decide};
use crate::store::{Ask, Backend, Seen, Session};

/// How long a lost COMMIT is looked for before it is called unknown: 5 seconds.
pub const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// After a body: whether the connection still answers what it is asked. One that does not is closed; a
/// caller's own is hung up.
pub(super) async fn in_step<DB: Backend>(unit: &mut Unit<'_, DB>) -> bool {
    if !mem::take(&mut unit.state.unproven) {
        return true;
    }
    let borrowed = matches!(unit.source.0, From::Connection(_));
    let Ok((conn, state, _)) = unit.connect().await else {
        return true;
    };
    // Dropped meanwhile, it is closed.
    let armed = mem::replace(&mut state.armed, true);
    let in_step = !mem::take(&mut state.out_of_step) && DB::is_in_step(conn).await;
    if in_step {
        state.armed = armed;
    } else if borrowed {
        DB::hang_up(conn).await;
    }
    in_step
}

/// What a connection that is out of step stands for, where there is no better error.
pub(super) fn out_of_step() -> sqlx::Error {
    sqlx::Error::Protocol("an answer was not that of the statement sent".into())
}

/// What a refusal stands for behind a body: where the driver or the server has met what was not expected
/// there, the link stands, and the body has left a statement half-way.
pub(super) fn behind_body(refusal: Error) -> Error {
    match refusal {
        Error::Unavailable(error) if is_unexpected(error.as_sqlx()) => {
            Error::StatementUnfinished(error)
        }
        refusal => refusal,
    }
}

/// By the driver; or by a server of PostgreSQL's, as a protocol violation.
fn is_unexpected(error: &sqlx::Error) -> bool {
    let violated = |code: &str| code == "08P01";
    matches!(error, sqlx::Error::Protocol(_))
        || error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .is_some_and(|code| violated(&code))
}

/// What a refusal stands for if it was read on such a connection.
pub(super) fn out_of_step_at(refusal: Error) -> Error {
    match refusal {
        Error::NotStorable { .. } => refusal,
        _ => Error::StatementUnfinished(out_of_step().into()),
    }
}

/// A rival's record made our INSERT fail. It is there: decide on it, or say why it cannot be seen.
/// Where the INSERT may have failed of something else, `refusal` says of what. Never loops.
pub(super) async fn rival<DB: Backend, T, E>(
    unit: &mut Unit<'_, DB>,
    request: &Request,
    ask: &Ask,
    snapshot: bool,
    refusal: Option<Error>,
) -> Answer<T, E> {
    match look_again(unit, request, ask).await {
        Ok((decision, joined)) => Answer::of(decision, || {
            if joined && snapshot {
                Error::FreshTransactionNeeded
            } else {
                refusal.unwrap_or(Error::RecordInvisible)
            }
        }),
        Err(error) => Answer::Refused(error),
    }
}

/// The body failed while it read from a snapshot older than the lock. If a rival has won since,
/// that is the answer.
pub(super) async fn after_failure<DB: Backend, T, E>(
    unit: &mut Unit<'_, DB>,
    request: &Request,
    ask: &Ask,
    error: E,
) -> Answer<T, E> {
    match look_again(unit, request, ask).await {
        Ok((Decision::Replay(record), _)) => Answer::Replayed(record),
        Ok((Decision::ReplayFailure(record), _)) => Answer::FailureReplayed(record),
        // Nothing won, or it cannot be known: the body's own error stands.
        Ok(_) | Err(_) => Answer::Failed(error),
    }
}

/// Looks the record up from where the unit stands now: a new transaction, or the caller's.
async fn look_again<DB: Backend>(
    unit: &mut Unit<'_, DB>,
    request: &Request,
    ask: &Ask,
) -> Result<(Decision, bool), Error> {
    if unit.state.armed {
        unit.part();
    }
    let (conn, ..) = unit.connect().await.map_err(DB::fold)?;
    let joined = conn.has_transaction();
    let (sighting, _) = conn.look_up(ask).await?.split(ask.clone());
    Ok((decide(sighting, request.question()), joined))
}

/// What the identity's lock and record say of a COMMIT whose answer was lost.
enum Verdict {
    Executed,
    Other(Decision),
    /// The lock was to be had and there is no record: rolled back.
    RolledBack,
}

/// Finds out, on a new connection, what became of a COMMIT: first the identity's lock, which the
/// old transaction holds until it has ended; then the record, which is ours if it carries our
/// attempt.
pub(super) async fn lost_commit<DB: Backend, T, E>(
    unit: &mut Unit<'_, DB>,
    request: &Request,
    ask: &Ask,
    lost: sqlx::Error,
    answer: Answer<T, E>,
) -> Answer<T, E> {
    unit.part();
    if unit.pool().is_none() {
        return Answer::Refused(Error::CommitUnknown(lost.into()));
    }
    let deadline = Instant::now() + RESOLVE_WITHIN;
    let mut tries = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Not left to the timeout: a pool that is closed answers at once, however late it is.
        if left.is_zero() {
            return Answer::Refused(Error::CommitUnknown(lost.into()));
        }
        match tokio::time::timeout(left, verdict(unit, request, ask)).await {
            Ok(Ok(Verdict::Executed)) => return answer,
            Ok(Ok(Verdict::RolledBack)) => {
                return Answer::Refused(behind_body(Error::Unavailable(lost.into())));
            }
            Ok(Ok(Verdict::Other(Decision::Refuse(Error::InFlight { .. }))) | Err(_)) => {
                unit.part();
                tokio::time::sleep(pause(tries)).await;
                tries += 1;
            }
            Ok(Ok(Verdict::Other(decision))) => {
                return Answer::of(decision, || Error::CommitUnknown(lost.into()));
            }
            Err(_) => return Answer::Refused(Error::CommitUnknown(lost.into())),
        }
    }
}

async fn verdict<DB: Backend>(
    unit: &mut Unit<'_, DB>,
    request: &Request,
    ask: &Ask,
) -> Result<Verdict, Error> {
    let (conn, state, _) = unit.connect().await.map_err(DB::fold)?;
    state.armed = true;
    let anew = ask.anew();
    let (tx, seen) = DB::open(conn, &anew).await?;
    let seen = seen?;
    let snapshot = seen.snapshot;
    let mut verdict = judge(seen, request, ask, anew);
    let rolled_back = DB::roll_back(tx).await.map_err(DB::fold);
    state.armed = rolled_back.is_err();
    if snapshot && matches!(verdict, Verdict::RolledBack) {
        rolled_back?;
        // What this transaction saw may be older than the lock that it was given: the old one may
        // have committed in between. It is over, so any look from here on is exact.
        let seen = conn.look_up(ask).await?;
        verdict = judge(seen, request, ask, ask.clone());
    }
    Ok(verdict)
}

fn judge(seen: Seen, request: &Request, ask: &Ask, asked: Ask) -> Verdict {
    let ours = seen
        .record
        .as_ref()
        .is_some_and(|record| record.attempt_id == ask.attempt_id);
    let (sighting, _) = seen.split(asked);
    match decide(sighting, request.question()) {
        _ if ours => Verdict::Executed,
        Decision::Run { .. } => Verdict::RolledBack,
        other => Verdict::Other(other),
    }
}
