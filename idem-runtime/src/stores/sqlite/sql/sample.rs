//! The look at the whole table.

use super::super::super::lease_sql::{is_to_be_settled, purgeable};
use super::super::super::session::{Purgeable, TableSample};
use super::{NOW, full, hold};

/// Counts what has been unknown for a time in microseconds, the only value, and measures how long the oldest record
/// has outlived its retention.
pub(in super::super) fn sample(table: &str, has_holds: bool) -> String {
    let is_free = if has_holds {
        hold::is_free(table)
    } else {
        String::new()
    };
    let (statuses, column, _) = purgeable(Purgeable::Expired);
    let (limit, settles, table) = (TableSample::SAMPLED, is_to_be_settled(), full(table));
    format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE status IN (3, 4) \
         AND locked_until <= {NOW} - ?1 AND {settles} ORDER BY locked_until LIMIT {limit})), \
         (SELECT {NOW} - {column} FROM {table} WHERE status IN ({statuses}){is_free} ORDER BY {column} LIMIT 1)"
    )
}
