//! Creates the table, for tests and first steps.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use super::super::session::Migrate;
use super::error::{begin_error, map_error};
use super::sql;
use super::verify::definition;
use crate::values::error::Error;

impl Migrate for SqliteConnection {
    const MIGRATION: &'static str = include_str!("../../../migrations/sqlite/0001_idem_record.sql");

    async fn create(&mut self, table: &str, migration: String) -> Result<(), Error> {
        let mut tx = if self.is_in_transaction() {
            self.begin().await.map_err(map_error)?
        } else {
            self.begin_with(sql::BEGIN_TO_WRITE)
                .await
                .map_err(begin_error)?
        };
        if definition(&mut tx, table).await?.is_none() {
            tx.execute(sqlx::raw_sql(AssertSqlSafe(migration)))
                .await
                .map_err(map_error)?;
        }
        tx.commit().await.map_err(map_error)
    }
}
