//! The spelling of what operators ask for.

use super::{NOW, parts};
use crate::stores::operate::Dialect;

pub(in super::super) const DIALECT: Dialect = Dialect {
    name: "SQLite",
    key: "key",
    now: NOW,
    account: "NULL",
    key_hash: None,
    number_cell: "CAST({} AS TEXT)",
    text_cell: "CAST({} AS TEXT)",
    // `hex` of null is the empty text.
    bytes_cell: "CASE WHEN {} IS NOT NULL THEN hex({}) END",
    id_cell: "CASE WHEN {} IS NOT NULL THEN hex({}) END",
    time_cell: "CAST(nullif({}, 9223372036854775807) AS TEXT)",
    sha256: None,
    skip_locked: "",
    locks_holds: false,
    bytes_literal: "x'{}'",
    hour: "({} / 3600000000)",
    // No row has a greater number, and few numbers are free.
    row_estimate: "SELECT CAST(coalesce(max(rowid), 0) AS TEXT) FROM {}",
    length: "length(CAST({} AS BLOB))",
    span: "{}",
    text_literal: "CAST(x'{}' AS TEXT)",
    time_literal: "{}",
    schema: "main",
};

/// Counts the tables and views of this name.
pub(in super::super) fn count_tables(table: &str) -> String {
    let (schema, name) = parts(table);
    format!(
        "SELECT CAST(count(*) AS TEXT) FROM {schema}.sqlite_schema WHERE name = '{name}' COLLATE NOCASE"
    )
}
