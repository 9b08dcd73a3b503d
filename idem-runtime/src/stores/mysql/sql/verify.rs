//! The queries to the catalogue.

use super::SELECT;

/// Returns the kind of the table.
pub(in super::super) fn kind(table: &str) -> String {
    format!(
        "{SELECT} coalesce(table_type = 'BASE TABLE', 0) AS base, coalesce(engine = 'InnoDB', 0) AS innodb, \
         coalesce(create_options LIKE '%partitioned%', 0) AS partitioned \
         FROM information_schema.tables WHERE {} LIMIT 1",
        is_it(TABLE, table)
    )
}

/// Counts the columns of the primary key, and those that are the whole of one of the three names.
pub(in super::super) fn primary_key(table: &str) -> String {
    format!(
        "{SELECT} CAST(count(*) AS SIGNED) AS parts, CAST(coalesce(sum(column_name IN ('namespace', 'scope', 'key') \
         AND sub_part IS NULL), 0) AS SIGNED) AS names \
         FROM information_schema.statistics WHERE {} AND index_name = 'PRIMARY' LIMIT 1",
        is_it(TABLE, table)
    )
}

/// Returns the primary key's column that counts (`AUTO_INCREMENT`), if there is one.
pub(in super::super) fn counter(table: &str) -> String {
    format!(
        "{SELECT} column_name AS name FROM information_schema.columns WHERE {} AND column_key = 'PRI' \
         AND extra LIKE '%auto_increment%' LIMIT 1",
        is_it(TABLE, table)
    )
}

/// Returns the table's triggers that run `BEFORE` or `AFTER` a write, with the lines that remove them.
pub(in super::super) fn triggers(table: &str, timing: &str) -> String {
    let quoted = |name: &str| format!("'`', replace({name}, '`', '``'), '`'");
    format!(
        "{SELECT} concat(trigger_schema, '.', trigger_name) AS name, \
         concat('DROP TRIGGER ', {}, '.', {}) AS fix FROM information_schema.triggers \
         WHERE {} AND action_timing = '{timing}' ORDER BY trigger_name LIMIT 100",
        quoted("trigger_schema"),
        quoted("trigger_name"),
        is_it(["event_object_schema", "event_object_table"], table)
    )
}

/// Returns the tables of engines without transactions where a body may write.
pub(in super::super) fn without_transactions(table: &str) -> String {
    let of_records = match table.split_once('.') {
        Some((schema, _)) => format!(", '{schema}'"),
        None => String::new(),
    };
    format!(
        "{SELECT} concat(t.table_schema, '.', t.table_name) AS name, t.engine AS engine \
         FROM information_schema.tables AS t \
         JOIN information_schema.engines AS e ON e.engine = t.engine \
         WHERE t.table_schema IN (DATABASE(){of_records}) AND t.table_type <> 'VIEW' \
         AND coalesce(e.transactions, 'NO') <> 'YES' ORDER BY 1 LIMIT 100"
    )
}

/// Returns the table's columns.
pub(in super::super) fn columns(table: &str) -> String {
    format!(
        "{SELECT} column_name AS name, data_type AS kind, column_type AS written, \
         CAST(coalesce(least(character_maximum_length, 4294967295), 0) AS SIGNED) AS length, \
         CAST(is_nullable = 'YES' AS SIGNED) AS nullable, \
         CAST(extra LIKE '% GENERATED%' AS SIGNED) AS is_generated, \
         CAST(column_default IS NOT NULL OR extra LIKE '%auto_increment%' AS SIGNED) AS supplied \
         FROM information_schema.columns WHERE {} ORDER BY ordinal_position LIMIT 5000",
        is_it(TABLE, table)
    )
}

/// Returns the condition that finds a table in the catalogue, by the columns that name schema and table.
fn is_it([schema_column, table_column]: [&str; 2], table: &str) -> String {
    match table.split_once('.') {
        Some((schema, name)) => {
            format!("{schema_column} = '{schema}' AND {table_column} = '{name}'")
        }
        None => format!("{schema_column} = DATABASE() AND {table_column} = '{table}'"),
    }
}

/// The columns by which most of the catalogue names a table.
const TABLE: [&str; 2] = ["table_schema", "table_name"];
