//! What operators ask, as text.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _, Sqlite, Transaction};

use super::{doctor, error, sql};
use crate::stores::backend::Backend as _;
use crate::stores::doctor::{Facts, Finding};
use crate::stores::operate::{Cells, Dialect, OperateSession};
use crate::values::error::{Error, SchemaFault};

impl OperateSession for SqliteConnection {
    const DIALECT: Dialect = sql::operate::DIALECT;

    fn facts(table: &str) -> Vec<String> {
        sql::doctor::facts(table)
    }

    fn diagnose(facts: &Facts, table: &str) -> Vec<Finding> {
        doctor::diagnose(facts, table)
    }

    async fn open_to_change(&mut self) -> Result<Transaction<'_, Sqlite>, Error> {
        // It has the write lock from the start, so that its snapshot is the newest.
        Sqlite::open_plain(self).await
    }

    async fn cells(&mut self, statement: String, table: &str) -> Result<Vec<Cells>, Error> {
        match rows(self, statement).await {
            Ok(rows) => cells(&rows),
            Err(error) => Err(wrong(self, table, error).await),
        }
    }

    async fn change(&mut self, statement: String, table: &str) -> Result<u64, Error> {
        let done = self.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await;
        match done {
            Ok(done) => Ok(done.rows_affected()),
            Err(error) => Err(wrong(self, table, error).await),
        }
    }
}

async fn rows(
    conn: &mut SqliteConnection,
    statement: String,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    let statement = sqlx::raw_sql(AssertSqlSafe(statement));
    conn.fetch_all(statement).await
}

fn cells(rows: &[SqliteRow]) -> Result<Vec<Cells>, Error> {
    let cells = rows.iter().map(|row| {
        let columns = 0..row.len();
        let values: Result<_, _> = columns.map(|column| row.try_get(column)).collect();
        values.map(Cells).map_err(error::map_error)
    });
    cells.collect()
}

/// Maps an error of a statement: to the table's fault if the statement is wrong, since our statements fit the
/// migration's tables.
async fn wrong(conn: &mut SqliteConnection, table: &str, error: sqlx::Error) -> Error {
    if !error::is_plain_error(&error) {
        return error::map_error(error);
    }
    let Ok(found) = rows(conn, sql::operate::count_tables(table)).await else {
        return error::map_error(error);
    };
    let count = cells(&found).ok().and_then(|rows| rows.first()?.number(0));
    let table = table.to_owned();
    match count {
        Some(0) => SchemaFault::TableMissing { table }.into(),
        Some(_) => SchemaFault::Columns { table }.into(),
        None => error::map_error(error),
    }
}
