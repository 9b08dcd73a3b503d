//! The statements of lease mode.

use super::super::super::lease::{Overdue, Page};
use super::super::super::lease_sql::{LeaseDialect, LeaseValues, WriteValues, condition, lapsed};
use super::super::claim::SqliteClaimRequest;
use super::{COLUMNS, NOW, full};
use crate::decision::Change;
use crate::values::record::Status;

const IDENTITY: &str = "namespace = ?1 AND scope = ?2 AND key = ?3";

const DIALECT: LeaseDialect = LeaseDialect {
    insert: "INSERT OR ABORT INTO",
    update: "UPDATE OR ABORT",
    key: "key",
    now: NOW,
    never: "9223372036854775807",
    microsecond: "",
    clock: ("", NOW),
};

/// Writes the record in progress: inserts it, or replaces the record whose attempt is `?11`.
pub(in super::super) fn upsert(
    request: &SqliteClaimRequest,
    replaces: bool,
    take_over: bool,
) -> String {
    let table = full(&request.table);
    let value = |n: u8| format!("?{n}");
    let values = LeaseValues {
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
    };
    if replaces {
        let is_replaced = format!("{IDENTITY} AND attempt_id = ?11");
        DIALECT.replace(&table, &values, "", &is_replaced, take_over)
    } else {
        DIALECT.insert(&table, &values, ("SELECT ", " WHERE ?11 IS NULL"))
    }
}

/// Updates a record on condition, for the lease's owner or for a caller that has read the record.
pub(in super::super) fn update(request: &SqliteClaimRequest, change: Change) -> String {
    let value = |n: u8| format!("?{n}");
    let values = WriteValues {
        expected: value(4),
        becomes: value(5),
        lasts: value(6),
        result: value(7),
        failure: value(8),
    };
    DIALECT.change(&full(&request.table), change, &values, IDENTITY)
}

/// Extends this many leases, of five values each.
pub(in super::super) fn extend(table: &str, leases: usize) -> String {
    let values = vec!["(?, ?, ?, ?, ?)"; leases].join(", ");
    format!(
        "WITH due (namespace, scope, key, attempt_id, lasts) AS (VALUES {values}) \
         UPDATE OR ABORT {} AS r SET locked_until = {NOW} + due.lasts FROM due \
         WHERE r.namespace = due.namespace AND r.scope = due.scope AND r.key = due.key \
         AND r.attempt_id = due.attempt_id AND r.{} RETURNING attempt_id",
        full(table),
        condition(Change::Extend, NOW),
    )
}

/// Changes lapsed leases of one operation as their policy says.
pub(in super::super) fn lapse(overdue: &Overdue<'_>) -> String {
    let full = full(overdue.table);
    format!(
        "UPDATE {full} SET {} WHERE (namespace, scope, key) IN (SELECT namespace, scope, key FROM {full} \
         WHERE namespace = ?1 AND operation = ?2 AND {} ORDER BY locked_until LIMIT ?3)",
        lapsed(&format!("{NOW} + ?4"), "?5"),
        condition(Change::Lapse, NOW),
    )
}

/// Lists records of unknown outcome, oldest lapse first.
pub(in super::super) fn unknown(page: &Page<'_>) -> String {
    let after = page
        .after
        .map_or("", |_| "AND (locked_until, scope, key) > (?3, ?4, ?5)");
    format!(
        "SELECT r.scope AS scope, r.key AS key, {COLUMNS} FROM {} AS r WHERE namespace = ?1 AND status = {} {after} \
         ORDER BY r.locked_until, r.scope, r.key LIMIT ?2",
        full(page.table),
        Status::Unknown.code(),
    )
}

/// Counts a namespace's records of unknown outcome.
pub(in super::super) fn count_unknown(table: &str) -> String {
    let unknown = Status::Unknown.code();
    format!(
        "SELECT count(*) FROM {} WHERE namespace = ?1 AND status = {unknown}",
        full(table)
    )
}
