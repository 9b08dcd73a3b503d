//! The statements of lease mode.

use super::super::super::lapsed::Page;
use super::super::super::lease::{Due, Overdue};
use super::super::super::lease_sql::{LeaseDialect, LeaseValues, WriteValues, condition, lapsed};
use super::super::claim::PgClaimRequest;
use super::super::statement::Value as _;
use super::{COLUMNS, DURABLE, begun_here, held_claim, lock};
use crate::decision::Change;
use crate::values::record::{RecordFormat, Status};

/// The status in a change of one record. Of the bare column, the condition would imply the predicate of the
/// partial index on `locked_until`. The planner would prefer that index to the primary key, and read every
/// lease in flight, and every version of them that an old snapshot keeps.
const STATUS: &str = "(status + 0)";

const NOW: &str = "pg_catalog.clock_timestamp()";
const IDENTITY: &str = "namespace = $1 AND scope = $2 AND key = $3";

const DIALECT: LeaseDialect = LeaseDialect {
    insert: "INSERT INTO",
    update: "UPDATE",
    key: "key",
    status: STATUS,
    now: NOW,
    never: "'infinity'",
    microsecond: " * interval '1 microsecond'",
    clock: (
        " FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock",
        "clock.now",
    ),
};

/// Opens the transaction of a message and makes it durable, in two statements. Fails inside a transaction begun
/// before.
pub(in super::super) fn open() -> String {
    let (begun, durable) = (begun_here(), DURABLE);
    format!("{OPEN}; {begun}, {durable}")
}

/// As [`open`], for a claim: asks for the lock, too.
pub(in super::super) fn open_to_claim(request: &PgClaimRequest) -> String {
    let (begun, lock, durable) = (begun_here(), lock(request), DURABLE);
    format!("{OPEN}; {begun}, {lock}, {durable}")
}

/// The number of statements with which a message opens.
pub(in super::super) const OPENING: usize = 2;

/// A message of several statements is a transaction already. Under a snapshot older than READ COMMITTED's, the
/// look-up would not see the change that the lock waited for.
const OPEN: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

/// Inserts the record in progress of a key that has none, if the lock is granted and the table is known to be
/// fit. Returns the attempt, or no row.
pub(in super::super) fn claim(request: &PgClaimRequest, format: RecordFormat) -> String {
    let table = &request.table;
    let held = held_claim(request);
    let behind = format!(
        " WHERE position('{held}' IN coalesce(current_setting('idem.held', true), '')) > 0 \
         AND position(',' || '{table}'::regclass::oid::text || ',' \
         IN coalesce(current_setting('idem.verified', true), '')) > 0 \
         AND NOT EXISTS (SELECT FROM {table} WHERE {IDENTITY}){WRITTEN}"
    );
    DIALECT.insert(table, &lease_values(), format, ("SELECT ", &behind))
}

/// Returns the attempt that the record carries now.
const WRITTEN: &str = " RETURNING attempt_id::text AS written";

/// Writes the record in progress: inserts it, or replaces the record whose attempt is `$11`.
pub(in super::super) fn upsert(
    request: &PgClaimRequest,
    format: RecordFormat,
    replaces: bool,
    take_over: bool,
) -> String {
    let values = lease_values();
    if replaces {
        let is_replaced = format!("{IDENTITY} AND attempt_id = $11");
        DIALECT.replace(
            &request.table,
            &values,
            format,
            ("", &is_replaced),
            take_over,
        )
    } else {
        DIALECT.insert(
            &request.table,
            &values,
            format,
            ("SELECT ", " WHERE $11::uuid IS NULL"),
        )
    }
}

fn lease_values() -> LeaseValues<String> {
    let value = |n: u8| format!("${n}");
    LeaseValues {
        namespace: value(1),
        scope: value(2),
        key: value(3),
        lease: value(4),
        attempt_id: value(5),
        attempt: value(6),
        operation: value(7),
        fingerprint: value(8),
        request: value(9),
        on_lapse: value(10),
    }
}

/// Updates a record on condition, for the lease's owner or for a caller that has read the record. Returns the
/// attempt that the record then carries, or no row.
pub(in super::super) fn update(request: &PgClaimRequest, change: (Change, i16)) -> String {
    let value = |n: u8| format!("${n}");
    let values = WriteValues {
        expected: value(4),
        becomes: value(5),
        lasts: value(6),
        result: value(7),
        failure: value(8),
    };
    DIALECT.change(&request.table, change, &values, IDENTITY) + WRITTEN
}

/// Changes lapsed leases of one operation as their policy says, and skips locked records.
pub(in super::super) fn lapse(overdue: &Overdue<'_>) -> String {
    let table = overdue.table;
    format!(
        "WITH lapsed AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
         WHERE namespace = $1 AND operation = $2 AND {} \
         ORDER BY locked_until LIMIT $3 FOR UPDATE SKIP LOCKED) \
         UPDATE {table} AS r SET {} FROM lapsed \
         WHERE r.namespace = lapsed.namespace AND r.scope = lapsed.scope AND r.key = lapsed.key",
        condition("status", Change::Lapse, NOW),
        lapsed(&format!("{NOW} + $4 * interval '1 microsecond'"), "$5"),
    )
}

/// Lists records of unknown outcome, oldest lapse first.
pub(in super::super) fn unknown(page: &Page<'_>) -> String {
    let after = page.after.map_or("", |_| {
        "AND (locked_until, scope, key) > (timestamptz 'epoch' + $3 * interval '1 microsecond', $4, $5)"
    });
    format!(
        "SELECT convert_to(r.scope, 'UTF8') AS scope, convert_to(r.key, 'UTF8') AS key, {COLUMNS} FROM {} AS r \
         WHERE namespace = $1 AND status = {} {after} ORDER BY r.locked_until, r.scope, r.key LIMIT $2",
        page.table,
        Status::Unknown.code(),
    )
}

/// Counts a namespace's records of unknown outcome.
pub(in super::super) fn count_unknown(table: &str) -> String {
    let unknown = Status::Unknown.code();
    format!("SELECT count(*) AS found FROM {table} WHERE namespace = $1 AND status = {unknown}")
}

/// Extends the leases whose record nobody has locked, and returns their attempts. Finds each record by its key
/// twice: the physical location of a row is unique only within its partition.
pub(in super::super) fn extend(table: &str, due: &[Due<'_>]) -> String {
    let held = held(table, due);
    format!(
        "WITH clock AS MATERIALIZED (SELECT pg_catalog.clock_timestamp() AS now), \
         free AS MATERIALIZED ({held} FOR UPDATE OF r SKIP LOCKED) \
         UPDATE {table} AS r SET locked_until = clock.now + free.lasts * interval '1 microsecond' \
         FROM free, clock WHERE r.namespace = free.namespace AND r.scope = free.scope AND r.key = free.key \
         AND r.attempt_id = free.attempt_id RETURNING r.attempt_id AS written"
    )
}

/// Returns the attempts that still hold their leases.
pub(in super::super) fn held(table: &str, due: &[Due<'_>]) -> String {
    format!(
        "SELECT r.attempt_id, r.namespace, r.scope, r.key, due.lasts \
         FROM (VALUES {}) AS due (namespace, scope, key, attempt_id, lasts) JOIN {table} AS r \
         ON r.namespace = due.namespace AND r.scope = due.scope AND r.key = due.key \
         WHERE r.attempt_id = due.attempt_id AND {}",
        values(due),
        condition("(r.status + 0)", Change::Extend, NOW),
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
