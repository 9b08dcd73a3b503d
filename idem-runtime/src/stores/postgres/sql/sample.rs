//! The look at the whole table.

use super::super::super::lease_sql::{is_to_be_settled, purgeable};
use super::super::super::session::{Purgeable, TableSample};
use super::hold;

/// Counts what has long been unknown, and measures how long the oldest record has outlived its retention. The
/// value is a time in microseconds. The clock is read once in a subquery of its own, as in a purge.
pub(in super::super) fn sample(table: &str, has_holds: bool) -> String {
    let is_free = if has_holds {
        hold::is_free(table)
    } else {
        String::new()
    };
    let (statuses, column, _) = purgeable(Purgeable::Expired);
    let (limit, settles) = (TableSample::SAMPLED, is_to_be_settled());
    format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE status IN (3, 4) \
         AND locked_until <= (SELECT pg_catalog.clock_timestamp() - $1 * interval '1 microsecond') \
         AND {settles} ORDER BY locked_until LIMIT {limit}) AS unknown) AS unknown, \
         (SELECT (extract(epoch FROM pg_catalog.clock_timestamp() - oldest.{column}) * 1000000)::bigint \
         FROM (SELECT {column} FROM {table} WHERE status IN ({statuses}){is_free} ORDER BY {column} LIMIT 1) AS oldest) AS overdue"
    )
}
