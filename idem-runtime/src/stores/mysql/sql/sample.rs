//! The look at the whole table.

use super::super::super::lease_sql::{is_to_be_settled, purgeable};
use super::super::super::session::{Purgeable, TableSample};
use super::{SELECT, hold};
use crate::values::record::Timestamp;

/// Counts what has been unknown for `unknown_for` microseconds, and finds the oldest expiry.
pub(in super::super) fn sample(
    table: &str,
    unknown_for: i64,
    now: Timestamp,
    has_holds: bool,
) -> String {
    let is_free = if has_holds {
        hold::is_seen_free(table)
    } else {
        String::new()
    };
    let (statuses, column, _) = purgeable(Purgeable::Expired);
    let (limit, settles, now) = (TableSample::SAMPLED, is_to_be_settled(), now.as_micros());
    format!(
        "{SELECT} (SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE locked_until > 0 \
         AND locked_until <= {now} - {unknown_for} AND {settles} ORDER BY locked_until LIMIT {limit}) AS settled) \
         AS unknown, \
         (SELECT {column} FROM {table} WHERE status IN ({statuses}){is_free} ORDER BY {column} LIMIT 1) AS oldest LIMIT 1"
    )
}
