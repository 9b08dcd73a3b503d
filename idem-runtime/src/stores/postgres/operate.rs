//! What operators ask, as text in the simple protocol: it needs no prepared statement, and so works behind any pooler.

use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Postgres, Row as _, Transaction};

use super::{doctor, error, purge, sql};
use crate::stores::doctor::{Facts, Finding};
use crate::stores::operate::{Cells, Dialect, OperateSession};
use crate::values::error::Error;

impl OperateSession for PgConnection {
    const DIALECT: Dialect = sql::operate::DIALECT;

    fn facts(table: &str) -> Vec<String> {
        sql::doctor::facts(table)
    }

    fn diagnose(facts: &Facts, table: &str) -> Vec<Finding> {
        doctor::diagnose(facts, table)
    }

    async fn is_behind_pooler(pool: &PgPool) -> Option<bool> {
        doctor::is_behind_pooler(pool).await
    }

    async fn open_to_change(&mut self) -> Result<Transaction<'_, Postgres>, Error> {
        self.begin_with(AssertSqlSafe(sql::begin_to_change()))
            .await
            .map_err(error::begin_error)
    }

    async fn lead(&mut self, table: &str) -> Result<bool, Error> {
        purge::lead(self, table).await.map(|(leads, _)| leads)
    }

    async fn cells(&mut self, statement: String, table: &str) -> Result<Vec<Cells>, Error> {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement));
        let rows = self.fetch_all(statement).await;
        let rows = rows.map_err(|error| error::table_error(error, table, "SELECT"))?;
        let cells = rows.iter().map(|row| {
            let columns = 0..row.len();
            let values: Result<_, _> = columns.map(|column| row.try_get(column)).collect();
            values.map(Cells).map_err(error::map_error)
        });
        cells.collect()
    }

    async fn change(&mut self, statement: String, table: &str) -> Result<u64, Error> {
        let privilege = match statement.split(' ').next() {
            Some("INSERT") => "INSERT",
            Some("DELETE") => "SELECT, DELETE",
            _ => "SELECT, UPDATE",
        };
        let done = self.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await;
        let done = done.map_err(|error| error::table_error(error, table, privilege))?;
        Ok(done.rows_affected())
    }
}
