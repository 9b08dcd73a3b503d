//! The fused path: a unit of work that begins and claims in one message, and records and commits in one. A
//! fresh run then costs no round trip more than its body in a plain transaction.
//!
//! ```text
//! plain:  BEGIN + lock │ look up │ body │ INSERT          │ COMMIT
//! fused:  BEGIN + lock + look up │ body │ INSERT + COMMIT
//! ```
//!
//! # Why it is right
//!
//! **The claim.** The statements of one message run one after the other. Each has its own snapshot, because the
//! transaction reads committed data, so the look-up sees the record of an attempt that held the lock before.
//! Neither statement returns a row, since nobody could act on it before the body. The first *raises* unless the
//! transaction began here, the lock is granted, the table has been verified on this connection, and the
//! transaction reads committed data. The second raises if there is a record. An error ends the message, and its
//! SQLSTATE says why. Nothing has been written then. The next attempt rolls back and looks up in one message;
//! if the body is to run after all, the attempt takes the plain path.
//!
//! **The record.** `idem.held` lists the claim with the number of the table that was verified. The record's
//! statement looks for both there before it inserts. It *raises* if they are gone or if it wrote nothing: a
//! COMMIT after a statement that wrote nothing would commit the body without its record. The setting reverts
//! with the transaction. The statement is a plain INSERT: if a record is replaced, the plain path is taken. The
//! primary key arbitrates. The statement's answer names the attempt, so on a connection that a body has left
//! out of step no other answer is taken for it.
//!
//! **COMMIT.** `COMMIT AND CHAIN` begins an empty transaction. The driver takes it for the old one, and ends it
//! by the ROLLBACK that it sends when a transaction is dropped: for a pooled connection at once, as it goes
//! back. Without the empty transaction the ROLLBACK would be answered by a warning, once per call. The INSERT's
//! own end, which is answered first, tells whether an error came before COMMIT or from it. COMMIT checks
//! deferred constraints, as on the plain path. If there is no answer at all, the outcome of COMMIT is open: the
//! lock and the record tell it. They also do so if the error may be that of the empty transaction, which begins
//! when the COMMIT is done.
//!
//! **The messages** are EXECUTEs of statements that each connection prepares once, as it verifies the table.
//! Their values are integers and hex. A server connection that does not know them (a new one, one behind a
//! pooler, one after `DISCARD ALL`) raises, and the next attempt prepares them. PostgreSQL parses them again
//! when `search_path` or a table changes, name and number of the table together.
//!
//! # Where it steps aside
//!
//! - A record over 1 MiB: as text it would be there twice, and the server would keep several copies of it. It is
//!   bound to the plain path's statement, which looks for the same claim and table in `idem.held`, and COMMIT
//!   follows alone.
//! - The caller's transaction or connection: there COMMIT, or the time of ROLLBACK, is not ours.
//! - Isolation above READ COMMITTED: the snapshot would be older than the lock. This costs a round trip, since
//!   only the server knows.
//! - A pool that keeps no prepared statements, as behind a pooler.
//! - A pool whose options say `idem.fused=off`; see [`is_on`].

mod raised;

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _, Row as _, Transaction};

use super::super::backend::{FinishOutcome, Opened};
use super::super::session::{BodyWrites, CommitError, NewRecord};
use super::claim::{NotFused, PgClaim, PgClaimRequest, PgFound, PgHeldClaim};
use super::sql::ROLLBACK;
use super::sql::fused as sql;
use super::sql::raised::Function;
use super::{Own as _, error, read_lookup, remember, verify};
use crate::decision::{Lock, Lookup};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// Returns whether a pool with these startup options takes this path: unless they say `-c idem.fused=off`.
pub(super) fn is_on(options: Option<&str>) -> bool {
    let set = options
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|word| {
            let joined = word.strip_prefix("-c").unwrap_or(word);
            joined.trim_start_matches('-').strip_prefix("idem.fused=")
        })
        .next_back();
    set.is_none_or(|value| matches!(value, "on" | "true" | "yes" | "1"))
}

/// Begins, locks and looks up in one message.
pub(super) async fn open<'c>(
    conn: &'c mut PgConnection,
    request: &PgClaimRequest,
    may_discard: bool,
) -> Result<Opened<'c, Postgres>, NotFused> {
    let text = sql::begin_and_claim(request, may_discard);
    match conn.begin_with(AssertSqlSafe(text)).await {
        Ok(tx) => Ok((tx, Ok(found_none(request)))),
        Err(error) => Err(error::fused_fallback(error, |shown| {
            raised::decode(shown, request)
        })),
    }
}

/// Sends ROLLBACK after a first message that raised, and does not wait for the answer: nothing else is to be
/// asked. The driver reads the answer before that of the connection's next statement.
///
/// The driver sends the text of a begin when the begin is first polled. Dropped after that, outside any
/// transaction that the driver knows of, it undoes nothing.
pub(super) async fn roll_back_unawaited(conn: &mut PgConnection) {
    let mut begin = pin!(conn.begin_with(ROLLBACK));
    poll_fn(|context| {
        // A lost connection reports itself again at its next use.
        let _ = begin.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

/// Returns the finding of a first message that raised nothing: no record, and the lock is granted.
fn found_none(request: &PgClaimRequest) -> PgFound {
    PgFound {
        lookup: Lookup {
            record: None,
            lock: Lock::Granted,
            now: Timestamp::from_micros(0),
        },
        claim: PgHeldClaim {
            request: request.clone(),
            snapshot: false,
            verified: true,
            dialect: PgClaim {
                table_oid: 0,
                fused: true,
            },
        },
    }
}

/// Rolls back and looks up in one message, after a first message that raised because of a record or a lock.
/// Returns `None` if there is no record and nobody holds the lock, or the server refuses the look-up: then the
/// plain path claims, or reports why.
pub(super) async fn look(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
) -> Result<Option<Lookup>, Error> {
    let text = sql::roll_back_and_look(request);
    let row = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_some() => return Ok(None),
        row => row.map_err(error::map_error)?,
    };
    let (found, _) = read_lookup(&row, request)?;
    let mut lookup = found.lookup;
    if lookup.record.is_none() {
        let busy: Option<bool> = row.try_get("busy").map_err(error::map_error)?;
        if busy != Some(true) {
            return Ok(None);
        }
        lookup.lock = Lock::Refused;
        remember(request);
    }
    Ok(Some(lookup))
}

/// The bytes of a record's payloads that are sent as text at most: 1 MiB.
const TEXT_MAX: usize = 1024 * 1024;

/// Returns whether a record is short enough to be part of a message's text.
pub(super) fn fits(record: &NewRecord<'_>) -> bool {
    let payloads = [record.request, record.result, record.failure];
    let lengths = payloads.into_iter().flatten().map(<[u8]>::len);
    lengths.sum::<usize>() <= TEXT_MAX
}

/// Records and commits in one message.
pub(super) async fn finish<'c>(
    mut tx: Transaction<'c, Postgres>,
    claim: &PgHeldClaim,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> FinishOutcome<'c, Postgres> {
    let text = sql::record_and_commit(claim, record, body_writes);
    // How many statements are still to be done: the INSERT and COMMIT at the end.
    let mut left = 2 + usize::from(body_writes == BodyWrites::Discard);
    let attempt = claim.request.attempt_id.as_uuid().hyphenated().to_string();
    let mut written = false;
    let failed = {
        let mut answers = tx.fetch_many(sqlx::raw_sql(AssertSqlSafe(text)));
        loop {
            match poll_fn(|context| answers.as_mut().poll_next(context)).await {
                Some(Ok(Either::Left(_))) => left = left.saturating_sub(1),
                Some(Ok(Either::Right(row))) => {
                    written |= row.try_get(0).is_ok_and(|answer: &str| answer == attempt);
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        }
    };
    match failed {
        None if left == 0 && written => FinishOutcome::Committed,
        None => {
            let error = sqlx::Error::Protocol("the server did not answer COMMIT".into());
            FinishOutcome::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if error::is_ambiguous(&error) => {
            FinishOutcome::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if written && error::may_follow_commit(&error) => {
            FinishOutcome::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if written => {
            tx.begin_again().await;
            FinishOutcome::Refused(tx, error::commit_error(error))
        }
        Some(error) if error::is_record_statement_lost(&error) => {
            // If it were handed back, the connection would go on to claim and never to record: it is closed
            // when dropped.
            let _ = tx.rollback().await;
            FinishOutcome::Failed(CommitError::RolledBack(error::map_error(error)))
        }
        Some(error) if error::is_our_conflict(&error, &claim.request.table) => {
            FinishOutcome::Conflict(tx)
        }
        Some(error) => {
            let refusal = match error::fused_write_error(error, &claim.request.table) {
                // The server refuses for these reasons before it looks for the claim.
                Error::TableMoved { .. } | Error::PermissionDenied { .. }
                    if !tx.is_aborted().await =>
                {
                    Error::TransactionEnded
                }
                refusal => refusal,
            };
            FinishOutcome::Refused(tx, refusal)
        }
    }
}

/// Rolls back, prepares the statements and verifies the table, after a first message that raised because this
/// connection does not know the statements. Verifies it also if the table does not allow the statements: a rule
/// is refused then. If there is no table, the plain path reports it. The plain path is also taken if the
/// statements are still not known, as behind a pooler that has prepared them on another connection.
pub(super) async fn prepare(conn: &mut PgConnection, table: &str) -> Result<(), Error> {
    // If `DISCARD ALL` removed our statements, it has removed the body's, too.
    if conn.cached_statements_size() > 0 {
        conn.clear_cached_statements()
            .await
            .map_err(error::map_error)?;
    }
    let text = sql::roll_back_and_list_prepared(table);
    let known = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_some() => return Ok(()),
        known => known.map_err(error::map_error)?,
    };
    let table_oid: i64 = known.try_get(0).map_err(error::map_error)?;
    let function: Option<&str> = known.try_get(2).map_err(error::map_error)?;
    let known: &str = known.try_get(1).map_err(error::map_error)?;
    let text = sql::prepare(table, known, function.and_then(Function::read).as_ref());
    match conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_none() => return Err(error::map_error(error)),
        _ => {}
    }
    verify::table(conn, table, table_oid).await
}

#[cfg(test)]
mod tests;
