//! Resolves what the claim could not decide: a conflict with a competing attempt, a failure inside
//! an old snapshot, and a lost COMMIT.

use tokio::time::Instant;

use super::connection::ConnectionGuard;
use crate::calls::kit::answer::Answer;
use crate::calls::kit::backoff::{RESOLVE_WITHIN, pause};
use crate::calls::kit::request::Request;
use crate::decision::Lookup;
use crate::decision::{Decision, decide};
use crate::stores::{Backend, ClaimRequest, Found, PoolTraitsOf, Session};
use crate::values::error::Error;
use crate::values::record::AttemptId;

/// Returns the driver error for a connection whose answers do not match its statements, if there is
/// no better one.
pub(super) fn out_of_sync() -> sqlx::Error {
    sqlx::Error::Protocol("an answer was not that of the statement sent".into())
}

/// Converts a refusal after a body. If the driver or the server reports a protocol error there, the
/// connection works and the body has left a statement unfinished.
pub(super) fn behind_body(refusal: Error) -> Error {
    match refusal {
        Error::Unavailable(error) if is_unexpected(error.as_sqlx()) => {
            Error::StatementUnfinished(error)
        }
        refusal => refusal,
    }
}

/// Returns whether the driver reports a protocol error, or PostgreSQL a protocol violation.
fn is_unexpected(error: &sqlx::Error) -> bool {
    let violated = |code: &str| code == "08P01";
    matches!(error, sqlx::Error::Protocol(_))
        || error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .is_some_and(|code| violated(&code))
}

/// Converts a refusal that was read from a connection whose answers do not match its statements.
pub(super) fn out_of_sync_at(refusal: Error) -> Error {
    match refusal {
        Error::NotStorable { .. } | Error::TooLargeToRecord { .. } => refusal,
        refusal if refusal.is_out_of_step() => refusal,
        _ => Error::StatementUnfinished(out_of_sync().into()),
    }
}

/// Resolves a conflict: another attempt's record made the INSERT fail. Decides on that record, or
/// returns why it cannot be seen. If the INSERT may have failed for another reason, `refusal` is
/// that error. Looks only once.
pub(super) async fn after_conflict<DB: Backend, T, E>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &Request,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
    snapshot: bool,
    refusal: Option<Error>,
) -> Answer<T, E> {
    match look_again(connection, request, claim_request).await {
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

/// Resolves a body's failure that read from a snapshot older than the lock. If a competing attempt
/// has committed since, its record is the answer.
pub(super) async fn after_failure<DB: Backend, T, E>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &Request,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
    error: E,
) -> Answer<T, E> {
    match look_again(connection, request, claim_request).await {
        Ok((Decision::Replay(record), _)) => Answer::Replayed(record),
        Ok((Decision::ReplayFailure(record), _)) => Answer::FailureReplayed(record),
        // No other attempt committed, or it cannot be known: return the body's own error.
        Ok(_) | Err(_) => Answer::Failed(error),
    }
}

/// Looks the record up on the unit's connection: outside any transaction, or in the caller's.
/// Returns the decision, and whether it was in the caller's transaction.
async fn look_again<DB: Backend>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &Request,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
) -> Result<(Decision, bool), Error> {
    connection.release_unknown();
    let (conn, _) = connection.connect().await.map_err(DB::map_error)?;
    let joined = conn.has_transaction();
    let lookup = conn.look_up(claim_request).await?.lookup;
    Ok((decide(lookup, request.decide_input()), joined))
}

/// The outcome of a COMMIT whose answer was lost.
enum Verdict {
    Executed,
    Other(Decision),
    /// The lock was free and there is no record: the transaction was rolled back.
    RolledBack,
}

/// Finds out the outcome of a COMMIT on a new connection. It first takes the identity's lock, which
/// the old transaction holds until it has ended. Then it reads the record: if it carries this
/// attempt's id, the COMMIT was executed.
pub(super) async fn lost_commit<DB: Backend, T, E>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &Request,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
    lost: sqlx::Error,
    answer: Answer<T, E>,
) -> Answer<T, E> {
    connection.release();
    if !connection.is_pooled() {
        return Answer::Refused(Error::CommitUnknown(lost.into()));
    }
    let deadline = Instant::now() + RESOLVE_WITHIN;
    let mut tries = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Check the deadline explicitly: a closed pool returns an error at once, so the timeout
        // would never fire.
        if left.is_zero() {
            return Answer::Refused(Error::CommitUnknown(lost.into()));
        }
        match tokio::time::timeout(left, verdict(connection, request, claim_request)).await {
            Ok(Ok(Verdict::Executed)) => return answer,
            Ok(Ok(Verdict::RolledBack)) => {
                return Answer::Refused(behind_body(Error::Unavailable(lost.into())));
            }
            Ok(Ok(Verdict::Other(Decision::Refuse(Error::InFlight { .. }))) | Err(_)) => {
                connection.release();
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
    connection: &mut ConnectionGuard<'_, DB>,
    request: &Request,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
) -> Result<Verdict, Error> {
    let (conn, state) = connection.connect().await.map_err(DB::map_error)?;
    state.set_close_on_drop(true);
    let anew = claim_request.anew();
    let (tx, found) = DB::open(conn, &anew).await?;
    let Found { lookup, claim } = found?;
    let mut verdict = judge(lookup, request, claim_request.attempt_id);
    let rolled_back = DB::roll_back(tx).await.map_err(DB::map_error);
    state.set_close_on_drop(rolled_back.is_err());
    if claim.snapshot && matches!(verdict, Verdict::RolledBack) {
        rolled_back?;
        // The snapshot of this transaction may be older than the lock: the old transaction may have
        // committed in between. It has ended, so a look-up from here on is exact.
        let lookup = conn.look_up(claim_request).await?.lookup;
        verdict = judge(lookup, request, claim_request.attempt_id);
    }
    Ok(verdict)
}

/// Returns the outcome of the attempt's COMMIT, by what its identity's record says.
fn judge(lookup: Lookup, request: &Request, attempt_id: AttemptId) -> Verdict {
    let ours = lookup
        .record
        .as_ref()
        .is_some_and(|record| record.attempt_id == attempt_id);
    match decide(lookup, request.decide_input()) {
        _ if ours => Verdict::Executed,
        Decision::Run { .. } => Verdict::RolledBack,
        other => Verdict::Other(other),
    }
}
