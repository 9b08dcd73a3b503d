//! The statements of lease mode.

use super::super::super::lease::{Due, Overdue, Page, Write, condition, lapsed, reclaimable};
use super::super::super::session::{ClaimRequest, NewRecord};
use super::{NEVER, NOW, RECORD, SELECT, at_once, attempt, bytes, hash, is_it, value};
use crate::decision::Change;
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::policy::Lease;
use crate::values::record::{CODEC_JSON, Timestamp};

/// A record in progress, without waiting for anybody's lock: one more, or in the place of the one
/// that `record` replaces, if that still stands there and is reclaimable, or (taking over) lapsed.
pub(in super::super) fn upsert(
    request: &ClaimRequest,
    record: &NewRecord<'_>,
    take_over: bool,
    lease: Lease,
) -> String {
    let table = &request.table;
    let status = record.status.code();
    let (fingerprint, request_json) = (value(hash(record)), value(record.request));
    let operation = bytes(record.operation.as_bytes());
    let id = attempt(request);
    let number = record.attempt;
    let never = NEVER.as_micros();
    let (lease, on_lapse) = (lease.micros(), lease.on_lapse().code());
    let Some(found) = record.replaces else {
        let identity = &request.identity;
        return format!(
            "{}INSERT INTO {table} (created_at, expires_at, locked_until, attempt_id, attempt, status, \
             fingerprint_version, codec, namespace, scope, `key`, operation, fingerprint, request, on_lapse) \
             VALUES ({NOW}, {never}, {NOW} + {lease}, {id}, {number}, {status}, {FINGERPRINT_VERSION}, \
             {CODEC_JSON}, {}, {}, {}, {operation}, {fingerprint}, {request_json}, {on_lapse})",
            at_once(),
            bytes(identity.namespace().as_bytes()),
            bytes(identity.scope().as_str().as_bytes()),
            bytes(identity.key().as_str().as_bytes()),
        );
    };
    let guard = if take_over {
        condition(Change::TakeOver, NOW)
    } else {
        reclaimable(NOW)
    };
    // Assignments are made from left to right: the guard is read before them.
    format!(
        "{}UPDATE {table} SET created_at = {NOW}, expires_at = {never}, locked_until = {NOW} + {lease}, \
         session_id = NULL, attempt_id = {id}, attempt = {number}, status = {status}, \
         fingerprint_version = {FINGERPRINT_VERSION}, codec = {CODEC_JSON}, operation = {operation}, \
         fingerprint = {fingerprint}, request = {request_json}, result = NULL, failure = NULL, on_lapse = {on_lapse} \
         WHERE {} AND attempt_id = x'{found}' AND {guard}",
        at_once(),
        is_it("", &request.identity),
    )
}

/// The conditional write of a lease's owner, or of whoever saw its record.
pub(in super::super) fn update(request: &ClaimRequest, write: &Write<'_>) -> String {
    let Write { change, lasts, .. } = *write;
    let set = match change {
        Change::Extend => format!(", locked_until = {NOW} + {lasts}"),
        Change::Doubt | Change::Lapse | Change::TakeOver => String::new(),
        Change::Complete
        | Change::Fail
        | Change::Release
        | Change::LapseReleased
        | Change::Settle(_) => format!(
            ", created_at = {NOW}, expires_at = {NOW} + {lasts}, locked_until = NULL, codec = {CODEC_JSON}, \
             result = {}, failure = {}",
            value(write.result),
            value(write.failure),
        ),
    };
    format!(
        "UPDATE {} SET attempt_id = x'{}', status = {}{set} WHERE {} AND attempt_id = x'{}' AND {}",
        request.table,
        write.becomes,
        change.to().code(),
        is_it("", &request.identity),
        write.expected,
        condition(change, NOW),
    )
}

/// Names those attempts of the leases that hold theirs. The joined order is fixed: each record is found by
/// its key, and no other is locked.
pub(in super::super) fn held(table: &str, due: &[Due<'_>], lock: &str) -> String {
    format!(
        "{SELECT} r.attempt_id FROM ({}) AS due STRAIGHT_JOIN {table} AS r ON {DUE} AND r.{} {lock}",
        each(due),
        condition(Change::Extend, NOW),
    )
}

/// Extends leases.
pub(in super::super) fn extend(table: &str, due: &[Due<'_>]) -> String {
    format!(
        "/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */ \
         UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_big_selects = 1) */ ({}) AS due STRAIGHT_JOIN {table} AS r ON {DUE} AND r.{} \
         SET r.locked_until = {NOW} + due.lasts",
        each(due),
        condition(Change::Extend, NOW),
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

/// Makes of lapsed leases of one operation what its policy says.
pub(in super::super) fn lapse(overdue: &Overdue<'_>, now: Timestamp) -> String {
    let now = now.as_micros();
    format!(
        "UPDATE {} SET {} WHERE namespace = {} AND operation = {} AND {} ORDER BY locked_until LIMIT {}",
        overdue.table,
        lapsed(
            &format!("{now} + {}", overdue.retention),
            &format!("x'{}'", overdue.becomes),
        ),
        bytes(overdue.namespace.as_bytes()),
        bytes(overdue.operation.as_bytes()),
        condition(Change::Lapse, &now.to_string()),
        overdue.limit,
    )
}

/// Records of unknown outcome, oldest lapse first.
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
        "{SELECT} r.scope, r.`key`, {RECORD} FROM {} AS r WHERE r.namespace = {} AND r.status = 4 {after} \
         ORDER BY r.locked_until, r.scope, r.`key` LIMIT {}",
        page.table,
        bytes(page.namespace.as_bytes()),
        page.limit,
    )
}

/// How many records of unknown outcome a namespace has.
pub(in super::super) fn count_unknown(table: &str, namespace: &str) -> String {
    format!(
        "{SELECT} COUNT(*) AS found FROM {table} WHERE namespace = {} AND status = 4 LIMIT 1",
        bytes(namespace.as_bytes()),
    )
}
