//! Creates the table, for tests and first steps.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use super::super::session::Migrate;
use super::error::{is_missing_table, is_there, map_error};
use super::{rows, sql};
use crate::values::error::Error;

impl Migrate for MySqlConnection {
    const MIGRATION: &'static str = include_str!("../../../migrations/mysql/0001_idem_record.sql");

    async fn create(&mut self, table: &str, migration: String) -> Result<(), Error> {
        if self.is_in_transaction() {
            // CREATE would commit the transaction.
            return Err(Error::AlreadyInTransaction);
        }
        match rows(self, sql::definition(table)).await {
            Ok(_) => return Ok(()),
            Err(error) if is_missing_table(&error) => {}
            Err(error) => return Err(map_error(error)),
        }
        match self.execute(sqlx::raw_sql(AssertSqlSafe(migration))).await {
            Ok(_) => Ok(()),
            // Another session creates it at this moment.
            Err(error) if is_there(&error) => Ok(()),
            Err(error) => Err(map_error(error)),
        }
    }
}
