//! Is the table fit to arbitrate? Asked once for each definition that this process meets.

use std::collections::HashSet;
use std::sync::{LazyLock, PoisonError, RwLock};

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};

use super::{code, rows, sql};
use crate::error::{Error, SchemaFault};

/// Definitions found fit, each with the name under which its table was asked for.
static KNOWN: LazyLock<RwLock<HashSet<(String, String)>>> = LazyLock::new(RwLock::default);

/// Whether a table of this definition was found fit before.
pub(super) fn is_known(table: &str, definition: &str) -> bool {
    !definition.is_empty()
        && KNOWN
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&(table.to_owned(), definition.to_owned()))
}

/// The definition in a row of `SHOW CREATE TABLE`; empty for what is no table.
pub(super) fn text(row: &MySqlRow) -> String {
    row.try_get_unchecked("Create Table").unwrap_or_default()
}

/// What else is asked of the columns: name and type, its length, and whether it must be there.
const COLUMNS: [(&str, &str, u32); 8] = [
    ("namespace", "varbinary", 64),
    ("scope", "varbinary", 1020),
    ("key", "varbinary", 1020),
    ("operation", "varbinary", 1020),
    ("attempt_id", "binary", 16),
    ("request", "longblob", 0),
    ("result", "longblob", 0),
    ("failure", "longblob", 0),
];

pub(super) async fn table(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let shown = rows(conn, sql::definition(table))
        .await
        .map_err(|error| code::fold_table(error, table))?;
    let definition = shown.first().map(text).unwrap_or_default();
    let not_permanent = |found| {
        let table = table.to_owned();
        Err(SchemaFault::NotPermanent { table, found }.into())
    };
    if definition.is_empty() {
        return not_permanent("not a table");
    }
    if definition.starts_with("CREATE TEMPORARY") {
        return not_permanent("temporary");
    }
    // A lease's claim has not shown it before, and asks here each time.
    if is_known(table, &definition) {
        return Ok(());
    }
    facts(conn, table).await?;
    columns(conn, table).await?;
    arbiter(conn, table).await?;
    KNOWN
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert((table.to_owned(), definition));
    Ok(())
}

/// An ordinary table of `InnoDB`: others lock no rows. Not partitioned, which forces columns into its
/// keys; without versions, which do the same.
async fn facts(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let text = format!(
        "SELECT coalesce(table_type = 'BASE TABLE', 0) AS base, coalesce(engine = 'InnoDB', 0) AS innodb, \
         coalesce(create_options LIKE '%partitioned%', 0) AS partitioned \
         FROM information_schema.tables WHERE {}",
        is_it(table)
    );
    let rows = rows(conn, text).await.map_err(code::fold)?;
    let table = table.to_owned();
    let Some(row) = rows.first() else {
        return Err(SchemaFault::TableMissing { table }.into());
    };
    let says = |fact: &str| row.try_get::<i64, _>(fact).map_err(code::fold);
    if says("base")? == 0 {
        let found = "not an ordinary table";
        return Err(SchemaFault::NotPermanent { table, found }.into());
    }
    if says("innodb")? == 0 {
        return Err(SchemaFault::NotTransactional { table }.into());
    }
    if says("partitioned")? != 0 {
        let found = "partitioned";
        return Err(SchemaFault::NotPermanent { table, found }.into());
    }
    Ok(())
}

/// Names are bytes and long enough, or a collation or a session that is not strict would make two
/// keys one; payloads are bytes that nothing cuts.
async fn columns(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    for (column, kind, length) in COLUMNS {
        let is_name = length > 0;
        let text = format!(
            "SELECT 1 AS n FROM information_schema.columns WHERE {} AND column_name = '{column}' \
             AND data_type = '{kind}' AND character_maximum_length >= {length} \
             AND (is_nullable = 'NO') = {}",
            is_it(table),
            u8::from(is_name),
        );
        if rows(conn, text).await.map_err(code::fold)?.is_empty() {
            return Err(SchemaFault::Column {
                table: table.to_owned(),
                column: column.to_owned(),
                fault: "is missing, or is not of the migration's type",
            }
            .into());
        }
    }
    Ok(())
}

/// The primary key, on exactly the three names and the whole of each. Not another unique index:
/// those are what `unique_checks = 0` switches off.
async fn arbiter(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let text = format!(
        "SELECT CAST(count(*) AS SIGNED) AS parts, CAST(coalesce(sum(column_name IN ('namespace', 'scope', 'key') \
         AND sub_part IS NULL), 0) AS SIGNED) AS names \
         FROM information_schema.statistics WHERE {} AND index_name = 'PRIMARY'",
        is_it(table)
    );
    let rows = rows(conn, text).await.map_err(code::fold)?;
    let says = |fact: &str| match rows.first() {
        Some(row) => row.try_get::<i64, _>(fact).map_err(code::fold),
        None => Ok(0),
    };
    if says("parts")? == 3 && says("names")? == 3 {
        Ok(())
    } else {
        Err(SchemaFault::NoArbiter {
            table: table.to_owned(),
        }
        .into())
    }
}

/// The condition that finds a table in the catalogue.
fn is_it(table: &str) -> String {
    match table.split_once('.') {
        Some((schema, name)) => format!("table_schema = '{schema}' AND table_name = '{name}'"),
        None => format!("table_schema = DATABASE() AND table_name = '{table}'"),
    }
}
