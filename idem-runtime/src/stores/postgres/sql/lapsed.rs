//! The search for lapsed leases.

use super::super::super::lapsed::LapsedSearch;
use super::super::super::lease_sql::is_to_be_retried;

/// Finds lapsed leases; the claim compares again. `$1` is their number, then come namespace and name of each
/// operation, and time, namespace, scope and key of the last lease found before.
///
/// The clock is read once, in a subquery of its own: the times of the index are compared with one moment. The
/// namespace is compared in an expression, because otherwise the planner may prefer the primary key, and read every
/// record of the namespace.
pub(in super::super) fn search(search: &LapsedSearch<'_>) -> String {
    let last = search.operations.len() * 2 + 1;
    let operations: Vec<_> = (2..last)
        .step_by(2)
        .map(|n| format!("(r.namespace || '') = ${n} AND r.operation = ${}", n + 1))
        .collect();
    let after = search.after.map_or_else(String::new, |_| {
        let [until, namespace, scope, key] = [last + 1, last + 2, last + 3, last + 4];
        let until = format!("timestamptz 'epoch' + ${until} * interval '1 microsecond'");
        format!(
            " AND r.locked_until >= {until} \
             AND (r.locked_until, r.namespace, r.scope, r.key) > ({until}, ${namespace}, ${scope}, ${key})"
        )
    });
    format!(
        "WITH clock AS MATERIALIZED (SELECT pg_catalog.clock_timestamp() AS now) \
         SELECT convert_to(r.namespace, 'UTF8') AS namespace, convert_to(r.operation, 'UTF8') AS operation, \
         convert_to(r.scope, 'UTF8') AS scope, convert_to(r.key, 'UTF8') AS key, r.attempt_id, r.attempt, \
         (extract(epoch FROM r.locked_until) * 1000000)::bigint AS locked_until, \
         (SELECT (extract(epoch FROM now) * 1000000)::bigint FROM clock) AS now \
         FROM {} AS r WHERE {} AND r.locked_until <= (SELECT now FROM clock) AND ({}){after} \
         ORDER BY r.locked_until, r.namespace, r.scope, r.key LIMIT $1",
        search.table,
        is_to_be_retried("r."),
        operations.join(" OR "),
    )
}
