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

mod statements;

use std::fmt::Write as _;
use std::future::poll_fn;

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _, Row as _, Transaction};

use self::statements::Names;
use super::super::backend::{FinishOutcome, Fresh};
use super::super::session::{
    BodyWrites, ClaimLookup, ClaimRequest, CommitError, FusedFallback, HeldClaim, NewRecord,
};
use super::{Own as _, error, read_lookup, sql, unit, verify};
use crate::decision::Lock;
use crate::values::error::Error;
use crate::values::key::hex;

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
    request: &ClaimRequest,
    may_discard: bool,
) -> Result<Fresh<'c, Postgres>, Result<FusedFallback, Error>> {
    let names = Names::of(&request.table);
    let mut text = format!("{}; EXECUTE {}(", sql::BEGIN_FUSED, names.lock);
    match sql::lock_number(request) {
        Some(number) => {
            let _ = write!(text, "{number}");
        }
        None => text.push_str("NULL"),
    }
    let held = sql::held_claim(request);
    let _ = write!(text, ",'{held}'); EXECUTE {}(", names.claim);
    identity(&mut text, request);
    text.push(')');
    if may_discard {
        let _ = write!(text, "; SAVEPOINT {}", request.savepoint_name());
    }
    match conn.begin_with(AssertSqlSafe(text)).await {
        Ok(tx) => Ok((tx, fused_claim(request))),
        Err(error) => Err(fused_fallback(error)),
    }
}

fn fused_claim(request: &ClaimRequest) -> HeldClaim {
    HeldClaim {
        request: request.clone(),
        // The server keeps it, in `idem.held`.
        table_oid: 0,
        snapshot: false,
        verified: true,
        placeholder: false,
        fused: true,
        running: None,
    }
}

/// Why the first message raised.
fn fused_fallback(error: sqlx::Error) -> Result<FusedFallback, Error> {
    match error::raised(&error).as_deref() {
        Some("22P02") => Ok(FusedFallback::Recorded),
        Some("22007") => Ok(FusedFallback::InFlight),
        Some("26000" | "3F000") => Ok(FusedFallback::Unprepared),
        // The transaction had begun before.
        None => Err(error::begin_error(error)),
        Some("25001" | "25P02") if error::is_own(&error) => Err(error::begin_error(error)),
        Some("42704") if error::names(&error, error::IN_TRANSACTION) => {
            Err(error::begin_error(error))
        }
        Some(_) => Ok(FusedFallback::Unfit),
    }
}

/// After a first message that raised because of a record or a lock: rolls back and looks up, in one
/// message. `None` if the record has gone since, or the server will not look: then the plain path says why.
pub(super) async fn look(
    conn: &mut PgConnection,
    request: &ClaimRequest,
) -> Result<Option<ClaimLookup>, Error> {
    let mut text = format!("ROLLBACK; EXECUTE {}(", Names::of(&request.table).look);
    identity(&mut text, request);
    text.push(')');
    let row = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_some() => return Ok(None),
        row => row.map_err(error::map_error)?,
    };
    let (mut found, _) = read_lookup(&row)?;
    if found.record.is_none() {
        if request.fused_fallback != Some(FusedFallback::InFlight) {
            return Ok(None);
        }
        found.lock = Lock::Refused;
    }
    Ok(Some(found))
}

/// Records and commits in one message.
pub(super) async fn finish<'c>(
    mut tx: Transaction<'c, Postgres>,
    claim: &HeldClaim,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> FinishOutcome<'c, Postgres> {
    let text = finish_text(claim, record, body_writes);
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
            let error = sqlx::Error::Protocol("COMMIT was not answered".into());
            FinishOutcome::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if error::is_ambiguous(&error) => {
            FinishOutcome::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if written && error::may_follow_commit(&error) => {
            FinishOutcome::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if written => {
            unit::begin_again(&mut tx).await;
            FinishOutcome::Refused(tx, error::commit_error(error))
        }
        Some(error) if is_useless(&error) => {
            // Handed back, the connection would go on to claim and never to record: it is closed when dropped.
            let _ = tx.rollback().await;
            FinishOutcome::Failed(CommitError::RolledBack(error::map_error(error)))
        }
        Some(error) if error::is_our_conflict(&error, &claim.request.table) => {
            FinishOutcome::Conflict(tx)
        }
        Some(error) => {
            let refusal = match refusal(error, &claim.request.table) {
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

/// Whether the record's statement is gone from this connection, or the table does not bear it any more
/// (a rule): the claim's is still there, and would not tell.
fn is_useless(error: &sqlx::Error) -> bool {
    matches!(error::raised(error).as_deref(), Some("26000" | "0A000"))
}

/// Why the record was not written.
fn refusal(error: sqlx::Error, table: &str) -> Error {
    if error::raised(&error).as_deref() == Some("42704") {
        if error::names(&error, error::CLAIM_GONE) {
            return Error::TransactionEnded;
        }
        if error::names(&error, error::TABLE_MOVED) {
            return error::moved(table);
        }
        if error::names(&error, error::NOT_WRITTEN) {
            return Error::RecordNotWritten;
        }
    }
    error::write_error(error, table, "INSERT")
}

fn finish_text(claim: &HeldClaim, record: &NewRecord<'_>, body_writes: BodyWrites) -> String {
    let request = &claim.request;
    let payload = record.result.or(record.failure).unwrap_or_default().len();
    let mut text = String::with_capacity(2 * payload + 512);
    if body_writes == BodyWrites::Discard {
        let _ = write!(text, "ROLLBACK TO SAVEPOINT {}; ", request.savepoint_name());
    }
    let statement = &Names::of(&request.table).record;
    let attempt = request.attempt_id.as_uuid();
    let _ = write!(text, "EXECUTE {statement}('{attempt}',");
    identity(&mut text, request);
    for value in [
        Some(record.operation.as_bytes()),
        record
            .fingerprint
            .as_ref()
            .map(|hash| hash.as_bytes().as_slice()),
        record.request,
        record.result,
        record.failure,
    ] {
        text.push(',');
        bytes(&mut text, value);
    }
    let _ = write!(text, ",{}); COMMIT AND CHAIN", record.retention);
    text
}

/// Namespace, scope and key, as three values.
fn identity(text: &mut String, request: &ClaimRequest) {
    bytes(text, Some(request.identity.namespace().as_bytes()));
    text.push(',');
    bytes(text, Some(request.identity.scope().as_str().as_bytes()));
    text.push(',');
    bytes(text, Some(request.identity.key().as_str().as_bytes()));
}

fn bytes(text: &mut String, value: Option<&[u8]>) {
    let Some(value) = value else {
        text.push_str("NULL");
        return;
    };
    // With `E` before it, a literal is read alike whatever the server's settings say of a backslash.
    text.push_str("E'\\\\x");
    hex::push_lower(text, value);
    text.push('\'');
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
    let names = Names::of(table);
    let text = format!(
        "ROLLBACK; SELECT '{table}'::regclass::oid::bigint, \
         ARRAY(SELECT name FROM pg_prepared_statements WHERE name LIKE 'idem%')::text"
    );
    let known = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_some() => return Ok(()),
        known => known.map_err(error::map_error)?,
    };
    let table_oid: i64 = known.try_get(0).map_err(error::map_error)?;
    let known: &str = known.try_get(1).map_err(error::map_error)?;
    let mut text = String::new();
    for (name, statement) in names.statements(table) {
        if !known.contains(name) {
            let _ = write!(text, "PREPARE {name} {statement};");
        }
    }
    match conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if error::raised(&error).is_none() => return Err(error::map_error(error)),
        _ => {}
    }
    verify::table(conn, table, table_oid).await
}

#[cfg(test)]
mod tests;
