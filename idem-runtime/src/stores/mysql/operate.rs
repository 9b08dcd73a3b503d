//! What operators ask, as text.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _, MySql, Row as _, Transaction};

use super::message::{fits, rows};
use super::{doctor, error, sql};
use crate::stores::backend::Backend as _;
use crate::stores::doctor::{Facts, Finding};
use crate::stores::operate::{Cells, Dialect, OperateSession};
use crate::values::error::Error;

impl OperateSession for MySqlConnection {
    const DIALECT: Dialect = sql::operate::DIALECT;

    fn facts(table: &str) -> Vec<String> {
        sql::doctor::facts(table)
    }

    fn diagnose(facts: &Facts, table: &str) -> Vec<Finding> {
        doctor::diagnose(facts, table)
    }

    async fn open_to_change(&mut self) -> Result<Transaction<'_, MySql>, Error> {
        // A statement that changes rows reads the newest ones.
        MySql::open_plain(self).await
    }

    async fn open_to_purge(&mut self) -> Result<Transaction<'_, MySql>, Error> {
        let isolation = rows(self, sql::purge::ISOLATION.to_owned()).await;
        isolation.map_err(error::map_error)?;
        MySql::open_plain(self).await
    }

    async fn lead(&mut self, table: &str) -> Result<bool, Error> {
        let lead = rows(self, sql::purge::lead(table)).await;
        let lead = lead.map_err(error::map_error)?;
        let leads = lead
            .first()
            .map(|row| row.try_get::<Option<i64>, _>("lead"));
        let leads = leads.transpose().map_err(error::map_error)?;
        Ok(leads.flatten() == Some(1))
    }

    async fn give_up_lead(&mut self, table: &str) -> Result<(), Error> {
        let done = rows(self, sql::purge::give_up_lead(table)).await;
        done.map(drop).map_err(error::map_error)
    }

    async fn cells(&mut self, statement: String, table: &str) -> Result<Vec<Cells>, Error> {
        let rows = rows(self, statement).await;
        let rows = rows.map_err(|error| error::table_error(error, table))?;
        let cells = rows.iter().map(|row| {
            let columns = 0..row.len();
            let values: Result<_, _> = columns.map(|column| row.try_get(column)).collect();
            values.map(Cells).map_err(error::map_error)
        });
        cells.collect()
    }

    async fn change(&mut self, statement: String, table: &str) -> Result<u64, Error> {
        fits(self, &statement).await.map_err(error::map_error)?;
        let done = self.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await;
        let done = done.map_err(|error| error::table_error(error, table))?;
        Ok(done.rows_affected())
    }
}
