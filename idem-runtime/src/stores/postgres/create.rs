//! Creates the table, for tests and first steps.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::super::session::Migrate;
use super::error::map_error;
use super::sql;
use super::statement::Statement;
use crate::values::error::Error;

impl Migrate for PgConnection {
    const MIGRATION: &'static str =
        include_str!("../../../migrations/postgres/0001_idem_record.sql");

    async fn create(&mut self, table: &str, migration: String) -> Result<(), Error> {
        let mut tx = self.begin().await.map_err(map_error)?;
        // Overrides the session's default.
        tx.execute(sql::READ_WRITE).await.map_err(map_error)?;
        tx.execute(sql::LOCK_CREATION).await.map_err(map_error)?;
        let missing: bool = Statement::new(sql::IS_MISSING.to_owned(), false)
            .bind(table)
            .fetch_one(&mut tx)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(map_error)?;
        if missing {
            tx.execute(sqlx::raw_sql(AssertSqlSafe(migration)))
                .await
                .map_err(map_error)?;
        }
        tx.commit().await.map_err(map_error)
    }
}
