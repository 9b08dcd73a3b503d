//! The search for lapsed leases.

use super::super::super::lapsed::LapsedSearch;
use super::super::super::lease_sql::is_to_be_retried;
use super::{NOW, SELECT, bytes};

/// The time of the statement, which is one constant: the range of the index on times ends there. A session may have set
/// it to another time, so the clock is compared beside it.
const RANGE_END: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

/// Finds lapsed leases; the claim compares again. `IS TRUE` keeps the server from reading every record of a namespace
/// by the primary key.
pub(in super::super) fn search(search: &LapsedSearch<'_>) -> String {
    let operations: Vec<_> = search
        .operations
        .iter()
        .map(|(namespace, operation)| {
            format!(
                "r.namespace = {} AND r.operation = {}",
                bytes(namespace.as_bytes()),
                bytes(operation.as_bytes()),
            )
        })
        .collect();
    let after = search.after.map_or_else(
        || "r.locked_until > 0".to_owned(),
        |after| {
            let until = after.locked_until.as_micros();
            format!(
                "r.locked_until >= {until} \
                 AND ((r.locked_until, r.namespace, r.scope, r.`key`) > ({until}, {}, {}, {})) IS TRUE",
                bytes(after.namespace.as_bytes()),
                bytes(after.scope.as_bytes()),
                bytes(after.key.as_bytes()),
            )
        },
    );
    format!(
        "{SELECT} r.namespace, r.operation, r.scope, r.`key`, r.attempt_id, r.attempt, r.locked_until, {NOW} AS now \
         FROM {} AS r WHERE {after} AND r.locked_until <= {RANGE_END} AND r.locked_until <= {NOW} \
         AND {} AND ({}) IS TRUE ORDER BY r.locked_until, r.namespace, r.scope, r.`key` LIMIT {}",
        search.table,
        is_to_be_retried("r."),
        operations.join(" OR "),
        search.limit,
    )
}
