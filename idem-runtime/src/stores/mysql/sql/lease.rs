//! The statements of lease mode.

use super::super::super::lapsed::Page;
use super::super::super::lease::{Due, Overdue, Write};
use super::super::super::lease_sql::{LeaseDialect, LeaseValues, WriteValues, condition, lapsed};
use super::super::super::session::NewRecord;
use super::super::claim::MySqlClaimRequest;
use super::{NOW, RECORD, SELECT, at_once, attempt, bytes, hash, is_it, value};
use crate::decision::Change;
use crate::values::policy::Lease;
use crate::values::record::{Status, Timestamp};

const DIALECT: LeaseDialect = LeaseDialect {
    insert: "INSERT INTO",
    update: "UPDATE",
    key: "`key`",
    status: "status",
    now: NOW,
    never: "9223372036854775807",
    microsecond: "",
    clock: ("", NOW),
};

/// Writes a record in progress without waiting for any lock: inserts it, or replaces the one that `record`
/// names, if that is still there and is reclaimable, or (taking over) lapsed.
pub(in super::super) fn upsert(
    request: &MySqlClaimRequest,
    record: &NewRecord<'_>,
    take_over: bool,
    lease: Lease,
) -> String {
    let identity = &request.identity;
    let values = LeaseValues {
        namespace: bytes(identity.namespace().as_bytes()),
        scope: bytes(identity.scope().as_str().as_bytes()),
        key: bytes(identity.key().as_str().as_bytes()),
        lease: lease.micros().to_string(),
        attempt_id: attempt(request),
        attempt: record.attempt.to_string(),
        operation: bytes(record.operation.as_bytes()),
        fingerprint: value(hash(record)),
        request: value(record.request),
        on_lapse: lease.on_lapse().code().to_string(),
    };
    let statement = match record.replaces {
        None => DIALECT.insert(&request.table, &values, record.format, ("VALUES (", ")")),
        Some(found) => {
            let is_replaced = format!("{} AND attempt_id = x'{found}'", is_it("", identity));
            let also = "session_id = NULL, ";
            DIALECT.replace(
                &request.table,
                &values,
                record.format,
                (also, &is_replaced),
                take_over,
            )
        }
    };
    format!("{}{statement}", at_once())
}

/// Updates a record on condition, for the lease's owner or for a caller that has read the record.
pub(in super::super) fn update(request: &MySqlClaimRequest, write: &Write<'_>) -> String {
    let values = WriteValues {
        expected: format!("x'{}'", write.expected),
        becomes: format!("x'{}'", write.becomes),
        lasts: write.lasts.to_string(),
        result: value(write.result),
        failure: value(write.failure),
    };
    let is_it = is_it("", &request.identity);
    DIALECT.change(&request.table, (write.change, write.codec), &values, &is_it)
}

/// Returns the attempts that still hold their leases. The join order is fixed: each record is found by its key,
/// and no other is locked.
pub(in super::super) fn held(table: &str, due: &[Due<'_>], lock: &str) -> String {
    format!(
        "{SELECT} r.attempt_id FROM ({}) AS due STRAIGHT_JOIN {table} AS r ON {DUE} AND r.{} {lock}",
        each(due),
        condition("status", Change::Extend, NOW),
    )
}

/// Extends leases.
pub(in super::super) fn extend(table: &str, due: &[Due<'_>]) -> String {
    format!(
        "/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */ \
         UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_big_selects = 1) */ ({}) AS due STRAIGHT_JOIN {table} AS r ON {DUE} AND r.{} \
         SET r.locked_until = {NOW} + due.lasts",
        each(due),
        condition("status", Change::Extend, NOW),
    )
}

const DUE: &str = "r.namespace = due.namespace AND r.scope = due.scope AND r.`key` = due.`key` \
     AND r.attempt_id = due.attempt_id";

fn each(due: &[Due<'_>]) -> String {
    let rows: Vec<_> = due
        .iter()
        .map(|due| {
            format!(
                "SELECT {} AS namespace, {} AS scope, {} AS `key`, x'{}' AS attempt_id, {} AS lasts",
                bytes(due.identity.namespace().as_bytes()),
                bytes(due.identity.scope().as_str().as_bytes()),
                bytes(due.identity.key().as_str().as_bytes()),
                due.attempt_id,
                due.lasts,
            )
        })
        .collect();
    rows.join(" UNION ALL ")
}

/// Is true of every lease and every unknown outcome, and of no other record: a range of the index on this column.
/// Beside it a plain comparison of the namespace would let the server read, and lock, every record of the
/// namespace by the primary key; `IS TRUE` keeps it from that.
const BY_LEASE: &str = "locked_until > 0";

/// Changes lapsed leases of one operation as their policy says.
pub(in super::super) fn lapse(overdue: &Overdue<'_>, now: Timestamp) -> String {
    let now = now.as_micros();
    format!(
        "UPDATE {} SET {} WHERE (namespace = {}) IS TRUE AND operation = {} AND {} ORDER BY locked_until LIMIT {}",
        overdue.table,
        lapsed(
            &format!("{now} + {}", overdue.retention),
            &format!("x'{}'", overdue.becomes),
        ),
        bytes(overdue.namespace.as_bytes()),
        bytes(overdue.operation.as_bytes()),
        condition("status", Change::Lapse, &now.to_string()),
        overdue.limit,
    )
}

/// Lists records of unknown outcome, oldest lapse first.
pub(in super::super) fn unknown(page: &Page<'_>) -> String {
    let after = page.after.map_or_else(String::new, |(until, scope, key)| {
        format!(
            "AND (r.locked_until, r.scope, r.`key`) > ({}, {}, {})",
            until.as_micros(),
            bytes(scope.as_bytes()),
            bytes(key.as_bytes()),
        )
    });
    format!(
        "{SELECT} r.scope, r.`key`, {RECORD} FROM {} AS r \
         WHERE (r.namespace = {}) IS TRUE AND r.{BY_LEASE} AND r.status = {} {after} \
         ORDER BY r.locked_until, r.scope, r.`key` LIMIT {}",
        page.table,
        bytes(page.namespace.as_bytes()),
        Status::Unknown.code(),
        page.limit,
    )
}

/// Counts a namespace's records of unknown outcome.
pub(in super::super) fn count_unknown(table: &str, namespace: &str) -> String {
    format!(
        "{SELECT} COUNT(*) AS found FROM {table} WHERE (namespace = {}) IS TRUE AND {BY_LEASE} AND status = {} LIMIT 1",
        bytes(namespace.as_bytes()),
        Status::Unknown.code(),
    )
}
