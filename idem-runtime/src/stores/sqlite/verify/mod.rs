//! Checks, once for each definition that this process meets, that the table is fit to arbitrate.

mod columns;
mod definition;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::super::bounded::Bounded;
use super::error::map_error;
use super::sql::{self, is_main, is_temporary, parts};
use crate::values::error::{Error, SchemaFault, SchemaFinding};

/// Definitions found fit.
static KNOWN: Bounded<String, ()> = Bounded::new();

/// Returns whether this table, with this definition, was found fit before. A definition does not show which
/// file the table is in.
pub(super) fn is_known(table: &str, definition: &str) -> bool {
    is_main(table) && KNOWN.find(|known| known == definition).is_some()
}

/// Returns whether ROLLBACK undoes an unfinished transaction, also after a crash. The journal mode OFF undoes
/// nothing, and MEMORY, on a file, nothing after a crash
/// (<https://sqlite.org/pragma.html#pragma_journal_mode>). A database without a file is itself in memory.
pub(super) fn is_undone(journal: &str, file: &str) -> bool {
    match journal {
        "wal" | "delete" | "truncate" | "persist" => true,
        "memory" => file.is_empty(),
        _ => false,
    }
}

/// Returns why a statement on the table is wrong: there is no table, no ordinary one, or a column is missing.
pub(super) async fn why(conn: &mut SqliteConnection, table: &str, error: sqlx::Error) -> Error {
    match definition(conn, table).await {
        Ok(None) => SchemaFault::TableMissing {
            table: table.to_owned(),
        }
        .into(),
        Ok(Some(_)) => match ordinary(conn, table).await {
            Ok(()) => SchemaFault::Columns {
                table: table.to_owned(),
            }
            .into(),
            Err(unfit) => unfit,
        },
        Err(_) => Error::Database(error.into()),
    }
}

pub(super) async fn table(conn: &mut SqliteConnection, table: &str) -> Result<(), Error> {
    let (schema, name) = parts(table);
    let named = table.to_owned();
    if is_temporary(table) {
        return Err(SchemaFault::NotPermanent {
            table: named,
            found: "temporary",
            fix: format!("DROP TABLE {table}"),
        }
        .into());
    }
    // The COMMIT of several files is not one: after a crash the record could exist without its effect, or the
    // effect without its record (sqlite.org/lang_attach.html). It would be one under a rollback journal in
    // both, which each connection may change.
    if !is_main(table) {
        return Err(SchemaFault::Attached { table: named }.into());
    }
    let Some(text) = definition(conn, table).await? else {
        return Err(SchemaFault::TableMissing { table: named }.into());
    };
    ordinary(conn, table).await?;
    let row = sqlx::query(sql::verify::CHECK)
        .bind(name)
        .bind(schema)
        .fetch_one(&mut *conn)
        .await
        .map_err(map_error)?;
    let journal: String = row.try_get("journal").map_err(map_error)?;
    let file: String = row.try_get("file").map_err(map_error)?;
    if !is_undone(&journal, &file) {
        return Err(SchemaFault::JournalMode { found: journal }.into());
    }
    if row.try_get::<bool, _>("dirty").map_err(map_error)? {
        return Err(SchemaFault::ReadUncommitted.into());
    }
    if is_known(table, &text) {
        return Ok(());
    }
    columns::check(conn, table).await?;
    let own = own_text(conn, table).await?;
    if definition::overwrites(&own) {
        let fix = anew(name);
        return Err(SchemaFault::NoArbiter { table: named, fix }.into());
    }
    if !row.try_get::<bool, _>("arbiter").map_err(map_error)? {
        let fix = format!(
            "CREATE UNIQUE INDEX {schema}.{name}_arbiter ON {name} \
             (namespace COLLATE BINARY, scope COLLATE BINARY, key COLLATE BINARY)"
        );
        return Err(SchemaFault::NoArbiter { table: named, fix }.into());
    }
    if let Some(column) = definition::collated(&own, columns::COMPARED) {
        return Err(SchemaFault::Column {
            table: named,
            column: column.to_owned(),
            fault: "has a collation under which different keys are equal",
            fix: anew(name),
        }
        .into());
    }
    triggers(conn, table).await?;
    KNOWN.insert(text, ());
    Ok(())
}

/// Returns the line that creates the table anew, if SQLite cannot change it.
fn anew(name: &str) -> String {
    format!(
        "DROP VIEW IF EXISTS {name}_readable; DROP INDEX IF EXISTS {name}_expires_at; \
         DROP INDEX IF EXISTS {name}_locked_until; ALTER TABLE {name} RENAME TO {name}_old \
         (then run the migration, and copy the records from {name}_old)"
    )
}

/// Checks that the table is no view, which its triggers may make writable, and no virtual table.
async fn ordinary(conn: &mut SqliteConnection, table: &str) -> Result<(), Error> {
    let (schema, name) = parts(table);
    let kind: Option<String> = sqlx::query_scalar(sql::verify::KIND)
        .bind(name)
        .bind(schema)
        .fetch_optional(conn)
        .await
        .map_err(map_error)?;
    match kind.as_deref() {
        Some("table") => Ok(()),
        None => Err(SchemaFault::TableMissing {
            table: table.to_owned(),
        }
        .into()),
        Some(kind) => Err(SchemaFault::NotPermanent {
            table: table.to_owned(),
            found: "not a table",
            fix: match kind {
                "view" => format!("DROP VIEW {table} (then run the migration)"),
                _ => format!("ALTER TABLE {table} RENAME TO {name}_old (then run the migration)"),
            },
        }
        .into()),
    }
}

/// Checks that nothing changes or drops a record on its way into the table. A trigger that does not say when it
/// runs, runs before.
async fn triggers(conn: &mut SqliteConnection, table: &str) -> Result<(), Error> {
    match all_triggers(conn, table)
        .await?
        .into_iter()
        .find(|found| !found.runs_after)
    {
        None => Ok(()),
        Some(found) => Err(SchemaFault::Trigger {
            table: table.to_owned(),
            fix: found.fix(),
            trigger: found.name,
        }
        .into()),
    }
}

/// Returns the facts that are reported and not refused: triggers that run after a write.
pub(super) async fn findings(
    conn: &mut SqliteConnection,
    table: &str,
) -> Result<Vec<SchemaFinding>, Error> {
    let found = all_triggers(conn, table).await?;
    let after = found.into_iter().filter(|found| found.runs_after);
    let finding = |found: Trigger| SchemaFinding::Trigger {
        table: table.to_owned(),
        fix: found.fix(),
        trigger: found.name,
    };
    Ok(after.map(finding).collect())
}

/// A trigger on the table of the records.
struct Trigger {
    schema: &'static str,
    name: String,
    runs_after: bool,
}

impl Trigger {
    /// Returns the line that removes the trigger.
    fn fix(&self) -> String {
        format!(
            "DROP TRIGGER {}.\"{}\"",
            self.schema,
            self.name.replace('"', "\"\"")
        )
    }
}

/// Returns the triggers of the table's own file, and those that only this connection has.
async fn all_triggers(conn: &mut SqliteConnection, table: &str) -> Result<Vec<Trigger>, Error> {
    let mut found = Vec::new();
    for schema in ["main", "temp"] {
        let statement = sql::verify::triggers(schema);
        let rows = sqlx::query(sqlx::AssertSqlSafe(statement))
            .bind(parts(table).1)
            .fetch_all(&mut *conn)
            .await
            .map_err(map_error)?;
        for row in rows {
            let text: String = row.try_get("text").map_err(map_error)?;
            found.push(Trigger {
                schema,
                name: row.try_get("name").map_err(map_error)?,
                runs_after: definition::runs_after(&text),
            });
        }
    }
    Ok(found)
}

/// Returns the text that defines the table alone.
async fn own_text(conn: &mut SqliteConnection, table: &str) -> Result<String, Error> {
    let (schema, name) = parts(table);
    let statement = sql::verify::own_text(schema);
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .bind(name)
        .fetch_one(conn)
        .await
        .map_err(map_error)
}

/// Returns the text that defines the table, its indexes and triggers; `None` if there is no such table.
pub(super) async fn definition(
    conn: &mut SqliteConnection,
    table: &str,
) -> Result<Option<String>, Error> {
    let statement = sql::verify::definition(table);
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .fetch_one(conn)
        .await
        .map_err(map_error)
}
