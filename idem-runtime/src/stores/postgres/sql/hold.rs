//! The statements about legal holds.

use super::super::super::hold::{hold_table_of, lock_table_of};

/// Whether there is a table of holds, as an expression.
pub(in super::super) fn exists(table: &str) -> String {
    format!(
        "pg_catalog.to_regclass('{}') IS NOT NULL",
        hold_table_of(table)
    )
}

/// Asks whether there is a table of holds.
pub(in super::super) fn exist(table: &str) -> String {
    format!("SELECT {}", exists(table))
}

/// Locks the holds until the transaction ends.
pub(in super::super) fn lock(table: &str) -> String {
    format!(
        "SELECT changes FROM {} WHERE id = 1 FOR SHARE",
        lock_table_of(table)
    )
}

/// Finds the hold on a scope, the only value.
pub(in super::super) fn find(table: &str) -> String {
    format!("SELECT 1 FROM {} WHERE scope = $1", hold_table_of(table))
}

/// The condition on a record that there is no hold on its scope.
pub(in super::super) fn is_free(table: &str) -> String {
    format!(
        " AND scope NOT IN (SELECT scope FROM {})",
        hold_table_of(table)
    )
}
