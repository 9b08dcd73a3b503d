//! The statements about legal holds.

use super::super::super::hold::{HOLD_TABLE, hold_table_of};
use super::{full, parts};

/// Asks whether there is a table of holds.
pub(in super::super) fn exist(table: &str) -> String {
    let (schema, _) = parts(table);
    format!(
        "SELECT count(*) FROM {schema}.sqlite_schema WHERE type = 'table' AND name = '{HOLD_TABLE}' COLLATE NOCASE"
    )
}

/// Finds the hold on a scope, the only value.
pub(in super::super) fn find(table: &str) -> String {
    let holds = full(&hold_table_of(table));
    format!("SELECT count(*) FROM {holds} WHERE scope = ?1")
}

/// The condition on a record that there is no hold on its scope.
pub(in super::super) fn is_free(table: &str) -> String {
    format!(
        " AND scope NOT IN (SELECT scope FROM {})",
        full(&hold_table_of(table))
    )
}
