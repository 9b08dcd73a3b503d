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
//! because the transaction reads committed data: the look-up sees whatever the lock waited for. It does
//! not answer, since nobody could act on the answer before the body; it *raises* unless the way is
//! free: the transaction began here, the lock is ours, the table has been verified on this connection, and
//! there is no record. An error ends the message, so nothing runs behind it; its SQLSTATE says why. Nothing
//! has been written then. The next attempt rolls back and looks up in one message, and where there is
//! something to do after all it takes the plain path.
//!
//! **The record.** The INSERT runs under the witness of the plain path, and *raises* where that would
//! write nothing: a COMMIT behind a statement that wrote nothing would commit the body without its
//! record. The claim is still listed in `idem.held`, which is asked before the INSERT is even analysed, so
//! that a body which ended its transaction is told from one that moved the table; and the table is the one
//! looked up, whose number the claim left in `idem.place`. Both settings revert with the transaction. It is
//! a plain INSERT: where a record is replaced, the path is the plain one. The primary key arbitrates. Its
//! answer names the attempt: on a connection that a body has left out of step, no other answer is taken for
//! it.
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

use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _, Row as _, Transaction};

use super::super::backend::{Fresh, Sealed};
use super::super::bounded::Bounded;
use super::super::session::{Ask, CommitError, Declined, Entry, Held, Seen};
use super::{code, seen, sql, unit, verify};
use crate::error::Error;
use crate::fingerprint::FINGERPRINT_VERSION;
use crate::key::hex;
use crate::outcome::Lock;
use crate::record::{CODEC_JSON, Status};

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
    ask: &Ask,
    undo: bool,
) -> Result<Fresh<'c, Postgres>, Result<Declined, Error>> {
    let mut text = sql::begin_fresh(ask);
    let _ = write!(text, "; EXECUTE {}(", Names::of(&ask.table).claim);
    identity(&mut text, ask);
    text.push(')');
    if undo {
        let _ = write!(text, "; SAVEPOINT {}", ask.savepoint());
    }
    match conn.begin_with(AssertSqlSafe(text)).await {
        Ok(tx) => Ok((tx, held(ask))),
        Err(error) => Err(declined(error)),
    }
}

fn held(ask: &Ask) -> Held {
    Held {
        ask: ask.clone(),
        // The server keeps it: `idem.place`.
        place: 0,
        snapshot: false,
        verified: true,
        placeholder: false,
        fused: true,
        running: None,
    }
}

/// Why the first message raised.
fn declined(error: sqlx::Error) -> Result<Declined, Error> {
    match code::raised(&error).as_deref() {
        Some("22P02") => Ok(Declined::Recorded),
        Some("22007") => Ok(Declined::InFlight),
        Some("26000" | "3F000") => Ok(Declined::Unprepared),
        // The transaction had begun before.
        None => Err(code::fold_begin(error)),
        Some("25001" | "25P02") if code::is_own(&error) => Err(code::fold_begin(error)),
        Some("42704") if code::names(&error, code::IN_TRANSACTION) => Err(code::fold_begin(error)),
        Some(_) => Ok(Declined::Unfit),
    }
}

/// After a first message that raised because of a record or a lock: rolls back and looks up, in one
/// message. `None` if the record has gone since, or the server will not look: then the plain path says why.
pub(super) async fn look(conn: &mut PgConnection, ask: &Ask) -> Result<Option<Seen>, Error> {
    let mut text = format!("ROLLBACK; EXECUTE {}(", Names::of(&ask.table).look);
    identity(&mut text, ask);
    text.push(')');
    let row = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if code::raised(&error).is_some() => return Ok(None),
        row => row.map_err(code::fold)?,
    };
    let (mut seen, _) = seen(&row)?;
    if seen.record.is_none() {
        if ask.declined != Some(Declined::InFlight) {
            return Ok(None);
        }
        seen.lock = Lock::Refused;
    }
    Ok(Some(seen))
}

/// Records and commits in one message.
pub(super) async fn seal<'c>(
    mut tx: Transaction<'c, Postgres>,
    held: &Held,
    entry: &Entry<'_>,
    undo: bool,
) -> Sealed<'c, Postgres> {
    let text = sealing(held, entry, undo);
    // How many statements are still to be done: the INSERT and COMMIT at the end.
    let mut left = 2 + usize::from(undo);
    let attempt = held.ask.attempt_id.as_uuid().hyphenated().to_string();
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
        None if left == 0 && written => Sealed::Committed,
        None => {
            let error = sqlx::Error::Protocol("COMMIT was not answered".into());
            Sealed::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if code::is_ambiguous(&error) => Sealed::Failed(CommitError::Ambiguous(error)),
        Some(error) if written && code::may_follow_commit(&error) => {
            Sealed::Failed(CommitError::Ambiguous(error))
        }
        Some(error) if written => {
            unit::begin_again(&mut tx).await;
            Sealed::Refused(tx, code::fold_commit(error))
        }
        Some(error) if is_useless(&error) => {
            // Handed back, the connection would go on to claim and never to record: it stays armed.
            let _ = tx.rollback().await;
            Sealed::Failed(CommitError::RolledBack(code::fold(error)))
        }
        Some(error) if code::is_our_conflict(&error, &held.ask.table) => Sealed::Rival(tx),
        Some(error) => Sealed::Refused(tx, refusal(error, &held.ask.table)),
    }
}

/// Whether the record's statement is gone from this connection, or the table does not bear it any more
/// (a rule): the claim's is still there, and would not tell.
fn is_useless(error: &sqlx::Error) -> bool {
    matches!(code::raised(error).as_deref(), Some("26000" | "0A000"))
}

/// Why the record was not written.
fn refusal(error: sqlx::Error, table: &str) -> Error {
    if code::raised(&error).as_deref() == Some("42704") {
        if code::names(&error, code::CLAIM_GONE) {
            return Error::TransactionEnded;
        }
        if code::names(&error, code::TABLE_MOVED) {
            return code::moved(table);
        }
        if code::names(&error, code::NOT_WRITTEN) {
            return Error::RecordNotWritten;
        }
    }
    code::fold_write(error, table, "INSERT")
}

fn sealing(held: &Held, entry: &Entry<'_>, undo: bool) -> String {
    let ask = &held.ask;
    let payload = entry.result.or(entry.failure).unwrap_or_default().len();
    let mut text = String::with_capacity(2 * payload + 512);
    if undo {
        let _ = write!(text, "ROLLBACK TO SAVEPOINT {}; ", ask.savepoint());
    }
    let record = &Names::of(&ask.table).record;
    let _ = write!(text, "EXECUTE {record}({},", sql::attempt_if_held(ask));
    identity(&mut text, ask);
    for value in [
        Some(entry.operation.as_bytes()),
        entry
            .fingerprint
            .as_ref()
            .map(|hash| hash.as_bytes().as_slice()),
        entry.request,
        entry.result,
        entry.failure,
    ] {
        text.push(',');
        bytes(&mut text, value);
    }
    let _ = write!(text, ",{}); COMMIT AND CHAIN", entry.retention);
    text
}

/// Namespace, scope and key, as three values.
fn identity(text: &mut String, ask: &Ask) {
    bytes(text, Some(ask.identity.namespace().as_bytes()));
    text.push(',');
    bytes(text, Some(ask.identity.scope().as_str().as_bytes()));
    text.push(',');
    bytes(text, Some(ask.identity.key().as_str().as_bytes()));
}

fn bytes(text: &mut String, value: Option<&[u8]>) {
    let Some(value) = value else {
        text.push_str("NULL");
        return;
    };
    // Not `'\x…'`: what a backslash means is a setting of the server's.
    text.push_str("decode('");
    hex::push_lower(text, value);
    text.push_str("','hex')");
}

/// After a first message that raised because this connection does not know the statements: rolls back,
/// prepares them and verifies the table, also where it does not bear the statements: a rule is refused
/// then. Where there is no table, the plain path says so; and it is taken where the statements are not
/// known even so, as behind a pooler that has prepared them on another connection.
pub(super) async fn prepare(conn: &mut PgConnection, table: &str) -> Result<(), Error> {
    // Where `DISCARD ALL` took ours it has taken the body's, too.
    if conn.cached_statements_size() > 0 {
        conn.clear_cached_statements().await.map_err(code::fold)?;
    }
    let names = Names::of(table);
    let text = format!(
        "ROLLBACK; SELECT '{table}'::regclass::oid::bigint, \
         ARRAY(SELECT name FROM pg_prepared_statements WHERE name LIKE 'idem%')::text"
    );
    let known = match conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if code::raised(&error).is_some() => return Ok(()),
        known => known.map_err(code::fold)?,
    };
    let place: i64 = known.try_get(0).map_err(code::fold)?;
    let known: &str = known.try_get(1).map_err(code::fold)?;
    let mut text = String::new();
    for (name, statement) in names.statements(table) {
        if !known.contains(name) {
            let _ = write!(text, "PREPARE {name} {statement};");
        }
    }
    match conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await {
        Err(error) if code::raised(&error).is_none() => return Err(code::fold(error)),
        _ => {}
    }
    verify::table(conn, table, place).await
}

/// The names of one table's statements. They hold a hash of the texts: builds that disagree on those
/// can share a server connection.
struct Names {
    claim: String,
    look: String,
    record: String,
}

impl Names {
    /// Made once for each table that is remembered.
    fn of(table: &str) -> Arc<Self> {
        static KNOWN: Bounded<String, Arc<Names>> = Bounded::new();
        KNOWN.find(|known| known == table).unwrap_or_else(|| {
            let names = Arc::new(Self::new(table));
            KNOWN.insert(table.to_owned(), Arc::clone(&names));
            names
        })
    }

    fn new(table: &str) -> Self {
        let texts = [claim(table), look_up(table), record(table)];
        let hash = Sha256::digest(texts.join(";"));
        let name = |what| format!("idem_{what}_{}", hex::lower(&hash[..8]));
        Self {
            claim: name("claim"),
            look: name("look"),
            record: name("record"),
        }
    }

    /// In this order, for a failing message leaves those before the failure: who knows the claim knows
    /// all of them.
    fn statements(&self, table: &str) -> [(&str, String); 3] {
        [
            (&self.record, record(table)),
            (&self.look, look_up(table)),
            (&self.claim, claim(table)),
        ]
    }
}

const KEY: &str = "r.namespace = convert_from($1, 'UTF8') AND r.scope = convert_from($2, 'UTF8') \
     AND r.key = convert_from($3, 'UTF8')";

/// `$1` to `$3` are the identity. What is raised is a cast that fails; the text is for whoever reads the
/// server's log.
fn claim(table: &str) -> String {
    format!(
        "(bytea, bytea, bytea) AS SELECT CASE \
         WHEN coalesce(position(',' || place || ',' IN verified), 0) = 0 \
         THEN ('idem_has_not_verified_the_table_on_this_connection' || nothing)::regnamespace::text \
         WHEN isolation NOT LIKE 'read %' THEN ('idem_needs_read_committed' || nothing)::regproc::text \
         WHEN r.status IS NOT NULL THEN ('idem: the key has a record' || nothing)::bigint::text \
         ELSE set_config('idem.place', place, true) END \
         FROM (SELECT current_setting('idem.verified', true) AS verified, \
           left(current_setting('idem.held'), 0) AS nothing, \
           current_setting('transaction_isolation') AS isolation, \
           '{table}'::regclass::oid::text AS place OFFSET 0) AS session \
         LEFT JOIN {table} AS r ON {KEY}"
    )
}

/// The plain path's look-up.
fn look_up(table: &str) -> String {
    format!(
        "(bytea, bytea, bytea) AS SELECT {} LEFT JOIN {table} AS r ON {KEY}",
        sql::seen(table),
    )
}

/// `$1` to `$10` are the record: the first of its key, completed or failed. Each value more is one more for
/// the server to read, at every call. Answers the attempt.
fn record(table: &str) -> String {
    let text = |n| format!("convert_from(${n}, 'UTF8')");
    let (completed, failed) = (Status::Completed.code(), Status::Failed.code());
    format!(
        "(uuid, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bigint) \
         AS WITH written AS (INSERT INTO {table} AS r (created_at, expires_at, attempt_id, attempt, status, \
           fingerprint_version, codec, namespace, scope, key, operation, fingerprint, request, result, failure) \
           SELECT clock.now, clock.now + $10 * interval '1 microsecond', $1, 1, \
             CASE WHEN $9 IS NULL THEN {completed} ELSE {failed} END, {FINGERPRINT_VERSION}, {CODEC_JSON}, \
             {}, {}, {}, {}, $6, $7, $8, $9 \
           FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock \
           WHERE CASE WHEN '{table}'::regclass::oid::text = current_setting('idem.place', true) \
             THEN true ELSE current_setting('{}') IS NULL END \
           RETURNING 1) SELECT CASE count(*) WHEN 1 THEN $1::text ELSE current_setting('{}') END FROM written",
        text(2),
        text(3),
        text(4),
        text(5),
        code::TABLE_MOVED,
        code::NOT_WRITTEN,
    )
}

#[cfg(test)]
mod tests;
