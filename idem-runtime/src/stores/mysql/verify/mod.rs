//! Checks, once for each definition that this process meets, that the table is fit to arbitrate.

mod columns;
mod known;

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};

pub(super) use self::known::{database_path, forget_path, is_known, path, remember_path, text};
use super::{error, row, rows, sql};
use crate::values::error::{Error, SchemaFault, SchemaFinding};

/// Checks the table, and returns where it is. `database_path` is where it was seen, if it was.
pub(super) async fn table(
    conn: &mut MySqlConnection,
    table: &str,
    database_path: Option<&str>,
) -> Result<String, Error> {
    let statement = match database_path {
        Some(_) => sql::definition(table),
        None => sql::facts(table),
    };
    let shown = rows(conn, statement)
        .await
        .map_err(|error| error::table_error(error, table))?;
    let text = shown.first().map(text).unwrap_or_default();
    let asked = shown.last().map(known::database_path).unwrap_or_default();
    if database_path.is_none()
        && let Some(facts) = shown.last()
    {
        // A look-up that has found no record has not asked whether the server accepts writes.
        row::clock(facts)?;
    }
    let database_path = database_path.unwrap_or(&asked);
    let not_permanent = |found, fix| {
        let table = table.to_owned();
        Err(SchemaFault::NotPermanent { table, found, fix }.into())
    };
    if text.is_empty() {
        let fix = format!("name the table itself, in the attribute: table = \"database.{table}\"");
        return not_permanent("not a table", fix);
    }
    if text.starts_with("CREATE TEMPORARY") {
        return not_permanent("temporary", format!("DROP TEMPORARY TABLE {table}"));
    }
    // A lease's claim has not read the definition before, and checks it here each time.
    if is_known(table, &text, database_path) {
        return Ok(database_path.to_owned());
    }
    kind(conn, table).await?;
    columns::check(conn, table).await?;
    arbiter(conn, table).await?;
    triggers(conn, table).await?;
    known::remember(table, &text, database_path);
    Ok(database_path.to_owned())
}

/// Checks that the table is an ordinary one of `InnoDB`: other engines lock no rows. It must not be
/// partitioned, which forces columns into its keys, nor versioned, which does the same.
async fn kind(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let text = sql::verify::kind(table);
    let rows = rows(conn, text).await.map_err(error::map_error)?;
    let Some(row) = rows.first() else {
        let table = table.to_owned();
        return Err(SchemaFault::TableMissing { table }.into());
    };
    let says = |fact: &str| row.try_get::<i64, _>(fact).map_err(error::map_error);
    let (found, fix) = if says("base")? == 0 {
        (
            "not an ordinary table",
            format!("ALTER TABLE {table} DROP SYSTEM VERSIONING"),
        )
    } else if says("innodb")? == 0 {
        let table = table.to_owned();
        return Err(SchemaFault::NotTransactional { table }.into());
    } else if says("partitioned")? != 0 {
        (
            "partitioned",
            format!("ALTER TABLE {table} REMOVE PARTITIONING"),
        )
    } else {
        return Ok(());
    };
    let table = table.to_owned();
    Err(SchemaFault::NotPermanent { table, found, fix }.into())
}

/// Checks that the primary key has exactly the three names, and the whole of each. Another unique index does
/// not count: `unique_checks = 0` switches it off.
async fn arbiter(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let text = sql::verify::primary_key(table);
    let rows = rows(conn, text).await.map_err(error::map_error)?;
    let says = |fact: &str| match rows.first() {
        Some(row) => row.try_get::<i64, _>(fact).map_err(error::map_error),
        None => Ok(0),
    };
    let parts = says("parts")?;
    if parts == 3 && says("names")? == 3 {
        return Ok(());
    }
    let drop = if parts == 0 { "" } else { "DROP PRIMARY KEY, " };
    let counter = counter(conn, table).await?;
    let fix =
        format!("ALTER TABLE {table} {drop}{counter}ADD PRIMARY KEY (namespace, scope, `key`)");
    let table = table.to_owned();
    Err(SchemaFault::NoArbiter { table, fix }.into())
}

/// Returns the clause that gives a counting column another key, if it is the primary key.
async fn counter(conn: &mut MySqlConnection, table: &str) -> Result<String, Error> {
    let text = sql::verify::counter(table);
    let rows = rows(conn, text).await.map_err(error::map_error)?;
    let unique = |row| format!("ADD UNIQUE KEY (`{}`), ", said(row, "name"));
    Ok(rows.first().map(unique).unwrap_or_default())
}

/// Checks that nothing changes a record on its way into the table.
async fn triggers(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let before = triggers_that_run(conn, table, "BEFORE").await?;
    match before.into_iter().next() {
        None => Ok(()),
        Some((trigger, fix)) => Err(SchemaFault::Trigger {
            table: table.to_owned(),
            trigger,
            fix,
        }
        .into()),
    }
}

/// Returns the table's triggers that run `BEFORE` or `AFTER` a write: their names, and the lines that remove
/// them.
async fn triggers_that_run(
    conn: &mut MySqlConnection,
    table: &str,
    timing: &str,
) -> Result<Vec<(String, String)>, Error> {
    let text = sql::verify::triggers(table, timing);
    let rows = rows(conn, text).await.map_err(error::map_error)?;
    let text = |row: &MySqlRow, column| row.try_get_unchecked(column).map_err(error::map_error);
    let named = |row| Ok((text(row, "name")?, text(row, "fix")?));
    rows.iter().map(named).collect()
}

/// Returns the faults that are reported and not refused: triggers that run after a write, and tables of engines
/// without transactions where a body may write.
pub(super) async fn findings(
    conn: &mut MySqlConnection,
    table: &str,
) -> Result<Vec<SchemaFinding>, Error> {
    let text = sql::verify::without_transactions(table);
    let rows = rows(conn, text).await.map_err(error::map_error)?;
    let mut findings = Vec::with_capacity(rows.len());
    for row in rows {
        findings.push(SchemaFinding::NotTransactional {
            table: row.try_get_unchecked("name").map_err(error::map_error)?,
            engine: row.try_get_unchecked("engine").map_err(error::map_error)?,
        });
    }
    for (trigger, fix) in triggers_that_run(conn, table, "AFTER").await? {
        findings.push(SchemaFinding::Trigger {
            table: table.to_owned(),
            trigger,
            fix,
        });
    }
    Ok(findings)
}

/// Maps an error of a statement on the table: to the table's fault, if it has one.
pub(super) async fn why(conn: &mut MySqlConnection, name: &str, error: Error) -> Error {
    match (&error, table(conn, name, None).await) {
        (Error::Database(_), Err(unfit @ Error::Schema(_))) => unfit,
        _ => error,
    }
}

/// Returns a text of a row, in any character set of the session; empty for none.
fn said(row: &MySqlRow, column: &str) -> String {
    row.try_get_unchecked(column).unwrap_or_default()
}
