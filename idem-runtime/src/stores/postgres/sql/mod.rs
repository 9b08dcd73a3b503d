//! The text of every statement. Only a checked table name, integers and hex are ever spliced in.
//!
//! The clock's function is named with its schema: a `search_path` may put another one before it.

#[cfg(feature = "operate")]
pub(super) mod doctor;
pub(super) mod fused;
pub(super) mod hold;
pub(super) mod lapsed;
pub(super) mod lease;
#[cfg(feature = "operate")]
pub(super) mod operate;
pub(super) mod purge;
pub(super) mod raised;
#[cfg(feature = "metrics")]
pub(super) mod sample;
pub(super) mod verify;

use super::super::lease_sql::reclaimable_of;
use super::claim::PgClaimRequest;
use super::error::IN_TRANSACTION;
use crate::stores::fast_check;
use crate::values::record::Status;

/// Begins, makes the ownership check's setting and asks for the lock, in one round trip.
///
/// `READ WRITE` makes a hot standby refuse, because it would answer from an older state. The setting is made
/// only if this statement's own BEGIN began the transaction (`now()` stands still in one). Otherwise the
/// connection was inside a transaction.
pub(super) fn begin(request: &PgClaimRequest) -> String {
    begin_by("BEGIN READ WRITE", request)
}

/// As [`begin`], after a fused message that raised.
pub(super) fn begin_after_fused(request: &PgClaimRequest) -> String {
    begin_by("ROLLBACK; BEGIN READ WRITE", request)
}

/// As [`begin`], for a lease's claim. Under a snapshot older than READ COMMITTED's, the look-up would not see
/// the change that the lock waited for.
pub(super) fn begin_lease(request: &PgClaimRequest) -> String {
    format!(
        "{}; SELECT {DURABLE}, {PLANNED_ANEW}",
        begin_by(BEGIN_LEASE, request)
    )
}

/// Begins a later write of a lease; fails inside a transaction begun before.
pub(super) fn begin_update() -> String {
    format!("{BEGIN_LEASE}; {}, {DURABLE}, {PLANNED_ANEW}", begun_here())
}

const BEGIN_LEASE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Makes a lease's COMMIT survive a crash, because the effect that follows it is outside the database.
const DURABLE: &str = "set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
     WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

/// Makes the server plan each statement anew. A plan that a connection keeps from when the table was small may
/// read the whole table.
const PLANNED_ANEW: &str = "set_config('plan_cache_mode', 'force_custom_plan', true)";

fn begin_by(begin: &str, request: &PgClaimRequest) -> String {
    let claim = lock(request);
    format!("{begin}; SELECT CASE WHEN {BEGUN_NOW} THEN {claim} END")
}

/// Asks for the lock, and makes the setting that names its holder.
pub(super) fn lock(request: &PgClaimRequest) -> String {
    let lock = try_lock(request);
    let held = held_claim(request);
    let attempt = request.attempt_id.as_uuid();
    format!("set_config('idem.held', CASE WHEN {lock} THEN '{held}' ELSE '-:{attempt},' END, true)")
}

/// Returns the claim as `idem.held` lists it, with the attempt as the server writes a uuid.
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

/// Begins a call without a key. Inside a transaction begun before, it fails by a setting that does not exist:
/// that transaction's writes would be committed with the body's.
pub(super) fn begin_plain() -> String {
    format!("BEGIN READ WRITE; {}", begun_here())
}

/// As [`begin_plain`], for what an operator changes. Under an older snapshot a statement would not see what the one
/// before it has waited for.
#[cfg(feature = "operate")]
pub(super) fn begin_to_change() -> String {
    format!("{BEGIN_LEASE}; {}", begun_here())
}

fn begun_here() -> String {
    format!("SELECT CASE WHEN NOT {BEGUN_NOW} THEN current_setting('{IN_TRANSACTION}') END")
}

/// Is true if the transaction began with this message.
pub(super) const BEGUN_NOW: &str = "(pg_catalog.now() = pg_catalog.statement_timestamp())";

/// Asks whether a transaction is open that began before this message.
pub(super) const IS_BEGUN_BY_HAND: &str =
    "SELECT pg_catalog.now() <> pg_catalog.statement_timestamp()";

/// Begins the fused path, before the prepared statement that makes every check.
///
/// `NOT DEFERRABLE` fails in a transaction that has run a statement. On a connection that does not know the
/// prepared statements, nothing else would show that a transaction was left open.
pub(super) const BEGIN_FUSED: &str = "BEGIN READ WRITE, NOT DEFERRABLE";

/// Returns the number of the lock that the fused path asks for; `None` if the fast check is off.
pub(super) fn lock_number(request: &PgClaimRequest) -> Option<i64> {
    fast_check::is_on().then(|| request.lock_key.lock_number())
}

/// Begins to ask, if there is no record `r`, whether another attempt holds the lock of this number. The lock is
/// taken in shared mode, which two that ask may have at once, and for this statement only. Nobody takes it whose
/// key has a record, or is in flight.
const BUSY: &str = "CASE WHEN r.status IS NULL THEN NOT pg_try_advisory_xact_lock_shared(";

/// Looks the record up outside any transaction, with what shows that the answer may be used: it names the attempt
/// `$4`, so it is not another statement's, and `is_apart` says whether the server is a standby, which answers from
/// an older state, or the session is inside a transaction with writes of its own. `$5` is the lock's number.
/// `$1` to `$3` are the identity: its bytes, if `decodes`, and expressions of text otherwise.
pub(super) fn look_up_before_begin(table: &str, decodes: bool) -> String {
    let key = if decodes {
        raised::KEY
    } else {
        "r.namespace = $1 AND r.scope = $2 AND r.key = $3"
    };
    let busy = if fast_check::is_on() {
        format!("{BUSY}$5) END")
    } else {
        "$5::bigint IS NULL".into()
    };
    format!(
        "SELECT $4 AS asked, {busy} AS busy, {IS_APART} AS is_apart, {NOW} AS now, {COLUMNS} \
         FROM (VALUES (1)) AS one (n) \
         LEFT JOIN {table} AS r ON {key}"
    )
}

/// Is true if what a statement outside any transaction shows may not be so: on a standby, or in a transaction that
/// somebody has left open with writes of its own.
const IS_APART: &str = "(pg_catalog.pg_is_in_recovery() \
     OR pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL)";

const NOW: &str = "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint";

/// Asks for the lock inside the caller's transaction, and lists the claim. Answers `granted`, `refused`,
/// `nested`, or `none`: without a transaction begun before, the message that this is a part of is one. Answers also
/// whether the server has lost all statements of the driver's, if the driver keeps some.
pub(super) fn join(request: &PgClaimRequest, keeps_statements: bool) -> String {
    let are_lost = if keeps_statements {
        "NOT EXISTS (SELECT FROM pg_prepared_statements WHERE NOT from_sql)"
    } else {
        "false"
    };
    let (lock, key, claim) = (try_lock(request), request.lock_key, held_claim(request));
    format!(
        "SELECT CASE WHEN {BEGUN_NOW} THEN 'none' WHEN position('{key}:' IN held) > 0 THEN 'nested' \
         WHEN {lock} THEN left(set_config('idem.held', held || '{claim}', true), 0) || 'granted' \
         ELSE 'refused' END, {are_lost} \
         FROM (SELECT coalesce(current_setting('idem.held', true), '') AS held) AS claims"
    )
}

/// Removes one claim from the list, and answers whether it was there.
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

/// Looks the record up. Returns always one row: the session's facts, and the record's columns or nulls.
pub(super) fn look_up(table: &str) -> String {
    format!(
        "SELECT {} LEFT JOIN {table} AS r ON r.namespace = $1 AND r.scope = $2 AND r.key = $3",
        lookup_columns(table)
    )
}

/// As [`look_up`], for those who wait for the identity: says too whether the answer may be used, as
/// [`look_up_before_begin`] does, and whether the identity's lock (`$4`) is held, by reading the list of locks, and
/// only if a record may be replaced or is not there. The list has the halves of a lock's number.
pub(super) fn look_for_waiters(table: &str) -> String {
    let released = Status::Released.code();
    format!(
        "SELECT {IS_APART} AS is_apart, CASE WHEN coalesce(r.status, {released}) = {released} \
         OR r.expires_at <= pg_catalog.clock_timestamp() THEN EXISTS (\
         SELECT FROM pg_catalog.pg_locks AS l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.classid = (($4::bigint >> 32) & 4294967295)::oid AND l.objid = ($4::bigint & 4294967295)::oid \
         AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d \
         WHERE d.datname = pg_catalog.current_database())) ELSE false END AS is_locked, {} \
         LEFT JOIN {table} AS r ON r.namespace = $1 AND r.scope = $2 AND r.key = $3",
        lookup_columns(table)
    )
}

/// The columns of a look-up, of one row to which the record is joined.
pub(super) fn lookup_columns(table: &str) -> String {
    format!(
        "coalesce(current_setting('idem.held', true), '') AS held, \
         coalesce(current_setting('idem.verified', true), '') AS verified, \
         current_setting('transaction_isolation') AS isolation, \
         '{table}'::regclass::oid::bigint AS table_oid, \
         {NOW} AS now, {COLUMNS} \
         FROM (VALUES (1)) AS one (n)"
    )
}

/// Writes the record, as the last statement before COMMIT.
///
/// It is a plain INSERT: the primary key arbitrates. If a reclaimable record is replaced, the same statement
/// compares it again with the one that was seen. If another attempt was quicker, it writes nothing. Its answer
/// names the attempt, so it cannot be that of another statement. `$18` is the claim, which leaves the list with
/// the record: a caller's transaction may make many calls, and each reads the list.
pub(super) fn write(table: &str, replaces: bool) -> String {
    let mut text = format!(
        "INSERT INTO {table} AS r (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
         namespace, scope, key, operation, fingerprint, request, result, failure) \
         SELECT clock.now, clock.now + $16 * interval '1 microsecond', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 \
         FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock \
         WHERE {OWNS_CLAIM} AND {} AND ($17::uuid IS NULL) = {}",
        is_in_place(table),
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
    text.push_str(
        " RETURNING $3, set_config('idem.held', replace(current_setting('idem.held', true), $18, ''), true)",
    );
    text
}

/// Answers whether the claim is still held, and whether the table is still the one seen.
pub(super) fn ownership(table: &str) -> String {
    format!("SELECT {OWNS_CLAIM}, {}", is_in_place(table))
}

/// Is true if the table is the one seen. `$1` is the attempt and `$2` the table's number, or zero for a fused
/// claim, which lists the number behind the attempt.
fn is_in_place(table: &str) -> String {
    format!(
        "CASE WHEN $2 <> 0 THEN '{table}'::regclass::oid::bigint = $2 ELSE \
         position($1 || ',' || '{table}'::regclass::oid::text || ';' \
         IN coalesce(current_setting('idem.held', true), '')) > 0 END"
    )
}

/// Is true if the claim is held. `$1` is the attempt.
pub(super) const OWNS_CLAIM: &str =
    "position($1 IN coalesce(current_setting('idem.held', true), '')) > 0";

/// Returns a query whether a claim is gone, and its answer if it is.
pub(super) fn ended(request: &PgClaimRequest) -> (String, String) {
    let attempt = request.attempt_id.as_uuid();
    let statement = format!(
        "SELECT CASE WHEN strpos(coalesce(current_setting($$idem.held$$,true),$$$$),'{attempt}')>0 \
         THEN $$held$$ ELSE '{attempt}' END"
    );
    (statement, attempt.to_string())
}

/// Fails only in a transaction that a failed statement has aborted.
pub(super) const IS_ALIVE: &str = "SELECT 1";

/// Sets a savepoint before COMMIT without a record, to show that there is a transaction to commit.
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

/// Answers this word, which has letters and digits only.
pub(super) fn say(word: &str) -> String {
    format!("SELECT '{word}'")
}

/// Ends the session. A role that may not do that ends its transaction.
pub(super) const END_SESSION: &str = "ROLLBACK; SELECT pg_terminate_backend(pg_backend_pid())";

/// Lets a transaction write, whatever the session's default.
pub(super) const READ_WRITE: &str = "SET TRANSACTION READ WRITE";

/// Serialises sessions that create a table at the same time: `IF NOT EXISTS` alone does not.
pub(super) const LOCK_CREATION: &str = "SELECT pg_advisory_xact_lock(7596834512190837161)";

/// Answers whether there is no such table.
pub(super) const IS_MISSING: &str = "SELECT to_regclass($1) IS NULL";
