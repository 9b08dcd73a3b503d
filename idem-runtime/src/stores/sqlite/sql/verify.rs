//! The queries to the schema.

/// Looks for the arbiter: a unique, non-partial index on exactly (namespace, scope, key), compared byte for
/// byte.
pub(in super::super) const CHECK: &str = "\
    SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1, ?2) AS i \
        WHERE i.\"unique\" = 1 AND i.partial = 0 \
          AND (SELECT count(*) FROM pragma_index_xinfo(i.name, ?2) AS x WHERE x.key = 1) = 3 \
          AND (SELECT count(*) FROM pragma_index_xinfo(i.name, ?2) AS x WHERE x.key = 1 AND upper(x.coll) = 'BINARY' \
               AND lower(x.name) IN ('namespace', 'scope', 'key')) = 3) AS arbiter, \
      coalesce((SELECT journal_mode FROM pragma_journal_mode('main')), '') AS journal, \
      coalesce((SELECT file FROM pragma_database_list WHERE name = 'main'), '') AS file, \
      (SELECT read_uncommitted FROM pragma_read_uncommitted) AS dirty";

/// Returns the kind of the table.
pub(in super::super) const KIND: &str =
    "SELECT type FROM pragma_table_list(?1) WHERE lower(schema) = ?2";

/// Returns the table's columns.
pub(in super::super) const COLUMNS: &str = "SELECT lower(c.name) AS name, c.type AS declared, c.\"notnull\" AS required, c.pk AS part, \
         c.hidden AS hidden, c.dflt_value IS NOT NULL AS supplied \
         FROM pragma_table_xinfo(?1, ?2) AS c ORDER BY c.cid";

/// Returns the table's triggers.
pub(in super::super) fn triggers(schema: &str) -> String {
    format!(
        "SELECT name AS name, sql AS text FROM {schema}.sqlite_schema \
         WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE ORDER BY name"
    )
}

/// Returns the text that defines the table alone.
pub(in super::super) fn own_text(schema: &str) -> String {
    format!(
        "SELECT sql FROM {schema}.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE"
    )
}

/// Returns the text that defines the table, its indexes and triggers.
pub(in super::super) fn definition(table: &str) -> String {
    format!("SELECT {}", super::definition(table))
}
