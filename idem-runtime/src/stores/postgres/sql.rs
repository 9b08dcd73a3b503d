//! Every statement's text. Only a checked table name, integers and hex are ever spliced in.
//!
//! The clock is asked for by its schema: a `search_path` may put another one before it.

use super::super::lease::{Due, condition};
use super::super::session::{ClaimRequest, FusedFallback};
use super::error::IN_TRANSACTION;
use super::statement::Value as _;
use crate::decision::Change;
use crate::stores::fast_check;

/// BEGIN, the ownership check and the lock, in one round trip.
///
/// `READ WRITE` makes a hot standby refuse: it would answer from an older state. The setting is
/// made only if this statement's own BEGIN began the transaction (`now()` stands still in one):
/// else the connection was inside one.
pub(super) fn begin(request: &ClaimRequest) -> String {
    match request.fused_fallback {
        // What the fused path began, it left aborted.
        Some(FusedFallback::Unprepared | FusedFallback::Unfit) => {
            begin_by("ROLLBACK; BEGIN READ WRITE", request)
        }
        _ => begin_by("BEGIN READ WRITE", request),
    }
}

/// The same for a lease's claim. Under an older snapshot than READ COMMITTED's the look-up would not
/// see what the lock waited for.
pub(super) fn begin_lease(request: &ClaimRequest) -> String {
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

fn begin_by(begin: &str, request: &ClaimRequest) -> String {
    let claim = lock(request);
    format!("{begin}; SELECT CASE WHEN {BEGUN_NOW} THEN {claim} END")
}

/// Asks for the lock, and makes the setting that says whose it is.
pub(super) fn lock(request: &ClaimRequest) -> String {
    let lock = try_lock(request);
    let held = held_claim(request);
    let attempt = request.attempt_id.as_uuid();
    format!("set_config('idem.held', CASE WHEN {lock} THEN '{held}' ELSE '-:{attempt},' END, true)")
}

/// A claim as `idem.held` lists it. The attempt stands there as the server writes a uuid.
pub(super) fn held_claim(request: &ClaimRequest) -> String {
    format!("{}:{},", request.lock_key, request.attempt_id.as_uuid())
}

fn try_lock(request: &ClaimRequest) -> String {
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
pub(super) fn lock_number(request: &ClaimRequest) -> Option<i64> {
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
             WHERE r.attempt_id = $17 AND (r.status = 5 OR r.expires_at <= pg_catalog.clock_timestamp())",
        );
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
pub(super) fn ended(request: &ClaimRequest) -> (String, String) {
    let attempt = request.attempt_id.as_uuid();
    let statement = format!(
        "SELECT CASE WHEN strpos(coalesce(current_setting($$idem.held$$,true),$$$$),'{attempt}')>0 \
         THEN $$held$$ ELSE '{attempt}' END"
    );
    (statement, attempt.to_string())
}

/// Extends those of the leases whose record nobody has locked; names the attempts that it did. Found by
/// its key twice: a row's place is its own in its partition only.
pub(super) fn extend(table: &str, due: &[Due<'_>]) -> String {
    let held = held(table, due);
    format!(
        "WITH clock AS MATERIALIZED (SELECT pg_catalog.clock_timestamp() AS now), \
         free AS MATERIALIZED ({held} FOR UPDATE OF r SKIP LOCKED) \
         UPDATE {table} AS r SET locked_until = clock.now + free.lasts * interval '1 microsecond' \
         FROM free, clock WHERE r.namespace = free.namespace AND r.scope = free.scope AND r.key = free.key \
         AND r.attempt_id = free.attempt_id RETURNING r.attempt_id"
    )
}

/// Names those attempts of the leases that hold theirs.
pub(super) fn held(table: &str, due: &[Due<'_>]) -> String {
    format!(
        "SELECT r.namespace, r.scope, r.key, r.attempt_id, due.lasts \
         FROM (VALUES {}) AS due (namespace, scope, key, attempt_id, lasts) JOIN {table} AS r \
         ON r.namespace = due.namespace AND r.scope = due.scope AND r.key = due.key \
         WHERE r.attempt_id = due.attempt_id AND {}",
        values(due),
        condition(Change::Extend, "pg_catalog.clock_timestamp()"),
    )
}

fn values(due: &[Due<'_>]) -> String {
    let rows: Vec<_> = due
        .iter()
        .map(|due| {
            format!(
                "({}, {}, {}, {}, {})",
                due.identity.namespace().literal(),
                due.identity.scope().as_str().literal(),
                due.identity.key().as_str().literal(),
                due.attempt_id.as_uuid().literal(),
                due.lasts.literal(),
            )
        })
        .collect();
    rows.join(", ")
}
