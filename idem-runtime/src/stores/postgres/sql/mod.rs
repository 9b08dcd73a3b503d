//! Every statement's text. Only a checked table name, integers and hex are ever spliced in.
//!
//! The clock is asked for by its schema: a `search_path` may put another one before it.

pub(super) mod fused;
pub(super) mod lease;
pub(super) mod purge;
pub(super) mod verify;

use super::super::lease_sql::reclaimable_of;
use super::claim::PgClaimRequest;
use super::error::IN_TRANSACTION;
use crate::stores::fast_check;

/// BEGIN, the ownership check and the lock, in one round trip.
///
/// `READ WRITE` makes a hot standby refuse: it would answer from an older state. The setting is
/// made only if this statement's own BEGIN began the transaction (`now()` stands still in one):
/// else the connection was inside one.
pub(super) fn begin(request: &PgClaimRequest) -> String {
    begin_by("BEGIN READ WRITE", request)
}

/// The same after a fused message that raised.
pub(super) fn begin_after_fused(request: &PgClaimRequest) -> String {
    begin_by("ROLLBACK; BEGIN READ WRITE", request)
}

/// The same for a lease's claim. Under an older snapshot than READ COMMITTED's the look-up would not
/// see what the lock waited for.
pub(super) fn begin_lease(request: &PgClaimRequest) -> String {
    format!("{}; {DURABLE}", begin_by(BEGIN_LEASE, request))
}

/// BEGIN of a lease's later writes; it fails inside a transaction begun before.
pub(super) fn begin_update() -> String {
    format!("{BEGIN_LEASE}; {}; {DURABLE}", begun_here())
}

const BEGIN_LEASE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// What follows a lease's COMMIT is outside the database: it must not be forgotten in a crash.
const DURABLE: &str = "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
     WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

fn begin_by(begin: &str, request: &PgClaimRequest) -> String {
    let claim = lock(request);
    format!("{begin}; SELECT CASE WHEN {BEGUN_NOW} THEN {claim} END")
}

/// Asks for the lock, and makes the setting that says whose it is.
pub(super) fn lock(request: &PgClaimRequest) -> String {
    let lock = try_lock(request);
    let held = held_claim(request);
    let attempt = request.attempt_id.as_uuid();
    format!("set_config('idem.held', CASE WHEN {lock} THEN '{held}' ELSE '-:{attempt},' END, true)")
}

/// A claim as `idem.held` lists it. The attempt stands there as the server writes a uuid.
pub(super) fn held_claim(request: &PgClaimRequest) -> String {
    format!("{}:{},", request.lock_key, request.attempt_id.as_uuid())
}

fn try_lock(request: &PgClaimRequest) -> String {
    if fast_check::is_on() {
        format!(
            "pg_try_advisory_xact_lock({})",
            request.lock_key.lock_number()
        )
    } else {
        "true".into()
    }
}

/// BEGIN for a call without a key. It fails, by a setting that does not exist, inside a transaction
/// begun before: that one's writes would be committed with the body's.
pub(super) fn begin_plain() -> String {
    format!("BEGIN READ WRITE; {}", begun_here())
}

fn begun_here() -> String {
    format!("SELECT CASE WHEN NOT {BEGUN_NOW} THEN current_setting('{IN_TRANSACTION}') END")
}

/// Whether the transaction began with this message.
pub(super) const BEGUN_NOW: &str = "(pg_catalog.now() = pg_catalog.statement_timestamp())";

/// The beginning of the fused path, before the prepared statement that makes every check.
///
/// `NOT DEFERRABLE` fails in a transaction that has run a statement: on a connection that does not know the
/// prepared statements, nothing else would say that somebody left one open.
pub(super) const BEGIN_FUSED: &str = "BEGIN READ WRITE, NOT DEFERRABLE";

/// The number of the lock that the fused path asks for: none where the fast check is off.
pub(super) fn lock_number(request: &PgClaimRequest) -> Option<i64> {
    fast_check::is_on().then(|| request.lock_key.lock_number())
}

/// The ownership check and the lock inside the caller's transaction. Answers `granted`, `refused` or
/// `nested`.
pub(super) fn join() -> String {
    let lock = if fast_check::is_on() {
        "pg_try_advisory_xact_lock($3)"
    } else {
        "$3::bigint IS NOT NULL"
    };
    format!(
        "SELECT CASE WHEN position($1 || ':' IN held) > 0 THEN 'nested' \
         WHEN {lock} THEN left(set_config('idem.held', held || $1 || ':' || $2 || ',', true), 0) || 'granted' \
         ELSE 'refused' END \
         FROM (SELECT coalesce(current_setting('idem.held', true), '') AS held) AS claims"
    )
}

/// Takes one claim off the list, and says whether it was there.
pub(super) fn release() -> String {
    "SELECT CASE WHEN position($1 IN held) > 0 \
     THEN set_config('idem.held', replace(held, $1, ''), true) IS NOT NULL ELSE false END \
     FROM (SELECT coalesce(current_setting('idem.held', true), '') AS held) AS claims"
        .into()
}

/// The columns of a record, as `row` reads them.
pub(super) const COLUMNS: &str = "(extract(epoch FROM r.created_at) * 1000000)::bigint AS created_at, \
     CASE WHEN isfinite(r.expires_at) THEN (extract(epoch FROM r.expires_at) * 1000000)::bigint END AS expires_at, \
     (extract(epoch FROM r.locked_until) * 1000000)::bigint AS locked_until, \
     r.attempt_id, r.attempt, r.status, r.fingerprint_version, r.codec, \
     convert_to(r.operation, 'UTF8') AS operation, r.fingerprint, \
     r.request, r.result, r.failure";

/// The look-up. One row always: what the session knows, and the record's columns or nulls.
pub(super) fn look_up(table: &str) -> String {
    format!(
        "SELECT {} LEFT JOIN {table} AS r ON r.namespace = $1 AND r.scope = $2 AND r.key = $3",
        lookup_columns(table)
    )
}

/// What a look-up shows, of one row to which the record is joined.
pub(super) fn lookup_columns(table: &str) -> String {
    format!(
        "coalesce(current_setting('idem.held', true), '') AS held, \
         coalesce(current_setting('idem.verified', true), '') AS verified, \
         current_setting('transaction_isolation') AS isolation, \
         '{table}'::regclass::oid::bigint AS table_oid, \
         (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint AS now, {COLUMNS} \
         FROM (VALUES (1)) AS one (n)"
    )
}

/// The record, as the last statement before COMMIT.
///
/// Plain INSERT: the primary key arbitrates. Where a reclaimable record is replaced, the same statement
/// compares it again with what was seen; another attempt that was quicker leaves nothing to do. Its answer names the
/// attempt: it cannot be that of another statement.
pub(super) fn write(table: &str, replaces: bool) -> String {
    let mut text = format!(
        "INSERT INTO {table} AS r (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
         namespace, scope, key, operation, fingerprint, request, result, failure) \
         SELECT clock.now, clock.now + $16 * interval '1 microsecond', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 \
         FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock \
         WHERE {OWNS_CLAIM} AND '{table}'::regclass::oid::bigint = $2 AND ($17::uuid IS NULL) = {}",
        !replaces,
    );
    if replaces {
        text.push_str(
            " ON CONFLICT (namespace, scope, key) DO UPDATE SET created_at = excluded.created_at, \
             expires_at = excluded.expires_at, locked_until = NULL, attempt_id = excluded.attempt_id, \
             attempt = excluded.attempt, status = excluded.status, fingerprint_version = excluded.fingerprint_version, \
             codec = excluded.codec, operation = excluded.operation, fingerprint = excluded.fingerprint, \
             request = excluded.request, result = excluded.result, failure = excluded.failure \
             WHERE r.attempt_id = $17 AND ",
        );
        text.push_str(&reclaimable_of("r.", "pg_catalog.clock_timestamp()"));
    }
    text.push_str(" RETURNING $3");
    text
}

/// Whether the claim is still held, and whether the table is still the one seen.
pub(super) fn ownership(table: &str) -> String {
    format!("SELECT {OWNS_CLAIM}, '{table}'::regclass::oid::bigint = $2")
}

/// `$1` is the attempt.
pub(super) const OWNS_CLAIM: &str =
    "position($1 IN coalesce(current_setting('idem.held', true), '')) > 0";

/// Asks whether a claim is gone; and the answer if it is.
pub(super) fn ended(request: &PgClaimRequest) -> (String, String) {
    let attempt = request.attempt_id.as_uuid();
    let statement = format!(
        "SELECT CASE WHEN strpos(coalesce(current_setting($$idem.held$$,true),$$$$),'{attempt}')>0 \
         THEN $$held$$ ELSE '{attempt}' END"
    );
    (statement, attempt.to_string())
}

/// Whether a transaction that a failed statement has not aborted is open, or none.
pub(super) const IS_ALIVE: &str = "SELECT 1";

/// The savepoint that shows before COMMIT without a record that there is a transaction to commit.
pub(super) const CHECK_TRANSACTION: &str = "SAVEPOINT idem_end";

pub(super) const BEGIN: &str = "BEGIN";
pub(super) const ROLLBACK: &str = "ROLLBACK";

/// Sets the savepoint before the body.
pub(super) fn set_savepoint(request: &PgClaimRequest) -> String {
    format!("SAVEPOINT {}", request.savepoint_name())
}

/// Rolls back what the body wrote.
pub(super) fn roll_back_body(request: &PgClaimRequest) -> String {
    format!("ROLLBACK TO SAVEPOINT {}", request.savepoint_name())
}

/// Answers this word: letters and digits only.
pub(super) fn say(word: &str) -> String {
    format!("SELECT '{word}'")
}

/// Ends the session. A role that may not do that ends its transaction.
pub(super) const END_SESSION: &str = "ROLLBACK; SELECT pg_terminate_backend(pg_backend_pid())";

/// Lets a transaction write, whatever the session's default.
pub(super) const READ_WRITE: &str = "SET TRANSACTION READ WRITE";

/// Serialises those who create a table at once: `IF NOT EXISTS` alone does not.
pub(super) const LOCK_CREATION: &str = "SELECT pg_advisory_xact_lock(7596834512190837161)";

/// Whether there is no such table.
pub(super) const IS_MISSING: &str = "SELECT to_regclass($1) IS NULL";
