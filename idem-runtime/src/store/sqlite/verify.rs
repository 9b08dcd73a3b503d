//! Is the table fit to arbitrate? Asked once for each definition that this process meets.

use std::collections::HashSet;
use std::sync::{LazyLock, PoisonError, RwLock};

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::code::fold;
use super::sql::{is_main, is_temporary, parts};
use crate::error::{Error, SchemaFault};

/// Definitions found fit.
static KNOWN: LazyLock<RwLock<HashSet<String>>> = LazyLock::new(RwLock::default);

/// Whether this table, of this definition, was found fit before. Where it is, a definition does not
/// show.
pub(super) fn is_known(table: &str, definition: &str) -> bool {
    is_main(table)
        && KNOWN
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(definition)
}

/// Whether what is half done is undone, by ROLLBACK and after a crash: OFF undoes nothing, and
/// MEMORY, on a file, nothing after a crash (<https://sqlite.org/pragma.html#pragma_journal_mode>). A database
/// without a file is itself in memory.
pub(super) fn is_undone(journal: &str, file: &str) -> bool {
    match journal {
        "wal" | "delete" | "truncate" | "persist" => true,
        "memory" => file.is_empty(),
        _ => false,
    }
}

/// Why a look-up's statement is wrong: no table, or a column that is missing.
pub(super) async fn why(conn: &mut SqliteConnection, table: &str, error: sqlx::Error) -> Error {
    match definition(conn, table).await {
        Ok(None) => SchemaFault::TableMissing {
            table: table.to_owned(),
        }
        .into(),
        Ok(Some(_)) => SchemaFault::Columns {
            table: table.to_owned(),
        }
        .into(),
        Err(_) => Error::Database(error.into()),
    }
}

/// The arbiter is a unique, non-partial index on exactly (namespace, scope, key), all three NOT
/// NULL (a null equals no null, so two records would fit), of type TEXT (under a numeric affinity
/// `1` and `1.0` are one key) and compared byte for byte.
const CHECK: &str = "\
    SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1, ?2) AS i \
        WHERE i.\"unique\" = 1 AND i.partial = 0 \
          AND (SELECT count(*) FROM pragma_index_xinfo(i.name, ?2) AS x WHERE x.key = 1) = 3 \
          AND (SELECT count(*) FROM pragma_index_xinfo(i.name, ?2) AS x WHERE x.key = 1 AND x.coll = 'BINARY' \
               AND x.name IN ('namespace', 'scope', 'key')) = 3) AS arbiter, \
      (SELECT w.name FROM (SELECT 'namespace' AS name UNION ALL SELECT 'scope' UNION ALL SELECT 'key') AS w \
        LEFT JOIN pragma_table_info(?1, ?2) AS c ON c.name = w.name \
        WHERE coalesce(c.\"notnull\", 0) = 0 OR upper(c.type) <> 'TEXT' LIMIT 1) AS unfit, \
      coalesce((SELECT journal_mode FROM pragma_journal_mode('main')), '') AS journal, \
      coalesce((SELECT file FROM pragma_database_list WHERE name = 'main'), '') AS file, \
      (SELECT read_uncommitted FROM pragma_read_uncommitted) AS dirty";

pub(super) async fn table(conn: &mut SqliteConnection, table: &str) -> Result<(), Error> {
    let (schema, name) = parts(table);
    let named = table.to_owned();
    if is_temporary(table) {
        return Err(SchemaFault::NotPermanent {
            table: named,
            found: "temporary",
        }
        .into());
    }
    // COMMIT of several files is not one: after a crash the record could be there without its
    // effect, or the effect without its record (sqlite.org/lang_attach.html). It would be under a
    // rollback journal in both, which each connection may change.
    if !is_main(table) {
        return Err(SchemaFault::Attached { table: named }.into());
    }
    let Some(definition) = definition(conn, table).await? else {
        return Err(SchemaFault::TableMissing { table: named }.into());
    };
    let row = sqlx::query(CHECK)
        .bind(name)
        .bind(schema)
        .fetch_one(conn)
        .await
        .map_err(fold)?;
    let journal: String = row.try_get("journal").map_err(fold)?;
    let file: String = row.try_get("file").map_err(fold)?;
    if !is_undone(&journal, &file) {
        return Err(SchemaFault::JournalMode { found: journal }.into());
    }
    if row.try_get::<bool, _>("dirty").map_err(fold)? {
        return Err(SchemaFault::ReadUncommitted.into());
    }
    if let Some(column) = row.try_get::<Option<String>, _>("unfit").map_err(fold)? {
        return Err(SchemaFault::Column {
            table: named,
            column,
            fault: "must be TEXT NOT NULL",
        }
        .into());
    }
    // `PRIMARY KEY … ON CONFLICT REPLACE` would overwrite a rival's record instead of refusing
    // ours.
    // (Written so that this look does not see it, it is overruled: our INSERT says `OR ABORT`.)
    let words = definition.to_ascii_uppercase();
    let words: Vec<_> = words.split_ascii_whitespace().collect();
    let overwrites = words.join(" ").contains("ON CONFLICT");
    if overwrites || !row.try_get::<bool, _>("arbiter").map_err(fold)? {
        return Err(SchemaFault::NoArbiter { table: named }.into());
    }
    KNOWN
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(definition);
    Ok(())
}

/// The text that defines the table, its indexes and triggers; `None` if there is no such table.
pub(super) async fn definition(
    conn: &mut SqliteConnection,
    table: &str,
) -> Result<Option<String>, Error> {
    let (schema, name) = parts(table);
    let statement =
        format!("SELECT group_concat(sql, ';') FROM {schema}.sqlite_schema WHERE tbl_name = ?1");
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .bind(name)
        .fetch_one(conn)
        .await
        .map_err(fold)
}
