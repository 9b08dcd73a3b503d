//! The statements about legal holds.

use super::super::super::hold::{HOLD_TABLE, hold_table_of, lock_table_of};
use super::{SELECT, bytes};
use crate::values::key::Scope;

/// Whether there is a table of holds, as an expression: the comment of the table of records says so. An account that may
/// not read the holds does not see their table.
pub(in super::super) fn exists(table: &str) -> String {
    let (schema, name) = match table.split_once('.') {
        Some((schema, name)) => (format!("'{schema}'"), name),
        None => ("DATABASE()".to_owned(), table),
    };
    format!(
        "(SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = '{name}' \
         AND LOCATE('{HOLD_TABLE}', TABLE_COMMENT) > 0)"
    )
}

/// Asks whether there is a table of holds.
pub(in super::super) fn exist(table: &str) -> String {
    format!(
        "{SELECT} CAST({} AS SIGNED) AS holds LIMIT 1",
        exists(table)
    )
}

/// Locks the holds until the transaction ends. A locking read has no snapshot.
pub(in super::super) fn lock(table: &str) -> String {
    format!(
        "{SELECT} changes FROM {} WHERE id = 1 LOCK IN SHARE MODE",
        lock_table_of(table)
    )
}

/// Finds the hold on a scope, by its newest row.
pub(in super::super) fn find(table: &str, scope: &Scope) -> String {
    format!(
        "{SELECT} 1 AS held FROM {} WHERE scope = {} LOCK IN SHARE MODE",
        hold_table_of(table),
        bytes(scope.as_str().as_bytes()),
    )
}

/// The condition that the row of the lock is there: without it nothing is locked.
pub(in super::super) fn has_lock(table: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM {} WHERE id = 1)",
        lock_table_of(table)
    )
}

/// The condition on a record that there is no hold on its scope.
pub(in super::super) fn is_free(table: &str) -> String {
    format!(
        " AND scope NOT IN (SELECT scope FROM {} LOCK IN SHARE MODE)",
        hold_table_of(table)
    )
}

/// The same, without a lock.
#[cfg(feature = "metrics")]
pub(in super::super) fn is_seen_free(table: &str) -> String {
    format!(
        " AND scope NOT IN (SELECT scope FROM {})",
        hold_table_of(table)
    )
}
