//! The fused path: a unit of work that begins and claims in one message, and records and commits in
//! one. A fresh run then costs no round trip more than its body in a plain transaction.
//!
//! ```text
//! plain:  BEGIN + lock │ look up │ body │ INSERT          │ COMMIT
//! fused:  BEGIN + lock + look up │ body │ INSERT + COMMIT
//! ```
//!
//! # Why it is right
//!
//! **The claim.** The statements of one message run one after the other, each in a snapshot of its own,
//! because the transaction reads committed data: the look-up sees the record of an attempt that held the lock
//! before. Neither statement answers a row, since nobody could act on it before the body. The first *raises*
//! unless the transaction began here, the lock is granted, the table has been verified on this connection, and
//! the transaction reads committed data; the second raises if there is a record. An error ends the message, and
//! its SQLSTATE says why. Nothing has been written then. The next attempt rolls back and looks up in one
//! message, and if the body is to run after all it takes the plain path.
//!
//! **The record.** `idem.held` lists the claim with the number of the table that was verified. The record's
//! statement looks for both there before it inserts, and *raises* if they are gone or if it wrote nothing: a
//! COMMIT behind a statement that wrote nothing would commit the body without its record. The setting reverts
//! with the transaction. The statement is a plain INSERT: where a record is replaced, the path is the plain one.
//! The primary key arbitrates. Its answer names the attempt: on a connection that a body has left out of step, no
//! other answer is taken for it.
//!
//! **COMMIT.** `COMMIT AND CHAIN` begins an empty transaction, which the driver takes for the old one
//! and ends by the ROLLBACK that it sends when a transaction is dropped: with a pooled connection at
//! once, as it goes back. Without it the ROLLBACK would be answered by a warning, once a call. Whether an
//! error came before COMMIT or of it is told by the INSERT's own end, which is answered first. Deferred
//! constraints are checked by COMMIT, as on the plain path. No answer at all is a lost COMMIT: the lock
//! and the record tell what became of it. So they do where the error may be that of the empty transaction,
//! which begins when the COMMIT is done.
//!
//! **What is sent** are EXECUTEs of statements that each connection prepares once, as it verifies the
//! table. Their values are integers and hex. A server connection that does not know them (a new one, one
//! behind a pooler, one after `DISCARD ALL`) raises, and is told. PostgreSQL parses them again when
//! `search_path` or a table changes, name and number of the table together.
//!
//! # Where it steps aside
//!
//! - The caller's transaction or connection: there COMMIT, or when ROLLBACK is sent, is not ours.
//! - Isolation above READ COMMITTED: the snapshot would be older than the lock. At the price of a round
//!   trip, since only the server knows.
//! - A pool that keeps no prepared statements, as behind a pooler.
//! - A pool whose options say `idem.fused=off`; [`is_on`].

use std::future::poll_fn;

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _, Row as _, Transaction};

use super::super::backend::{FinishOutcome, Opened};
use super::super::session::{BodyWrites, CommitError, NewRecord};
use super::claim::{FusedFallback, NotFused, PgClaim, PgClaimRequest, PgFound, PgHeldClaim};
use super::sql::fused as sql;
use super::{Own as _, error, read_lookup, verify};
use crate::decision::{Lock, Lookup};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// Whether a pool with these startup options takes this path: unless they say `-c idem.fused=off`.
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
        Err(error) => Err(error::fused_fallback(error)),
    }
}

/// What the first message has found if it raised nothing: no record, and the lock is granted.
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

/// After a first message that raised because of a record or a lock: rolls back and looks up, in one
/// message. `None` if the record has gone since, or the server will not look: then the plain path says why.
pub(super) async fn look(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
    fallback: FusedFallback,
) -> Result<Option<Lookup>, Error> {
    let text = sql::roll_back_and_look(request);
    let row = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_some() => return Ok(None),
        row => row.map_err(error::map_error)?,
    };
    let (found, _) = read_lookup(&row, request)?;
    let mut lookup = found.lookup;
    if lookup.record.is_none() {
        if fallback != FusedFallback::InFlight {
            return Ok(None);
        }
        lookup.lock = Lock::Refused;
    }
    Ok(Some(lookup))
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
            // Handed back, the connection would go on to claim and never to record: it is closed when dropped.
            let _ = tx.rollback().await;
            FinishOutcome::Failed(CommitError::RolledBack(error::map_error(error)))
        }
        Some(error) if error::is_our_conflict(&error, &claim.request.table) => {
            FinishOutcome::Conflict(tx)
        }
        Some(error) => {
            let refusal = match error::fused_write_error(error, &claim.request.table) {
                // What is refused so is refused before the claim is looked for.
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

/// After a first message that raised because this connection does not know the statements: rolls back,
/// prepares them and verifies the table, also where it does not bear the statements: a rule is refused
/// then. Where there is no table, the plain path says so; and it is taken where the statements are not
/// known even so, as behind a pooler that has prepared them on another connection.
pub(super) async fn prepare(conn: &mut PgConnection, table: &str) -> Result<(), Error> {
    // Where `DISCARD ALL` took ours it has taken the body's, too.
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
    let known: &str = known.try_get(1).map_err(error::map_error)?;
    let text = sql::prepare(table, known);
    match conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_none() => return Err(error::map_error(error)),
        _ => {}
    }
    verify::table(conn, table, table_oid).await
}

#[cfg(test)]
mod tests;
