//! Legal holds. Whoever deletes or replaces a record has the write lock of the file, and so has whoever places a hold.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::super::hold::hold_table_of;
use super::{sql, wrong_or};
use crate::values::error::Error;
use crate::values::key::Scope;

/// Returns whether there is a table of holds.
pub(super) async fn exist(conn: &mut SqliteConnection, table: &str) -> Result<bool, Error> {
    let found = sqlx::query_scalar::<_, i64>(AssertSqlSafe(sql::hold::exist(table)));
    match found.fetch_one(&mut *conn).await {
        Ok(found) => Ok(found > 0),
        Err(error) => Err(wrong_or(conn, table, error).await),
    }
}

pub(super) async fn is_held(
    conn: &mut SqliteConnection,
    table: &str,
    scope: &Scope,
) -> Result<bool, Error> {
    if !exist(conn, table).await? {
        return Ok(false);
    }
    let found = sqlx::query_scalar::<_, i64>(AssertSqlSafe(sql::hold::find(table)));
    match found.bind(scope.as_str()).fetch_one(&mut *conn).await {
        Ok(found) => Ok(found > 0),
        Err(error) => Err(wrong_or(conn, &hold_table_of(table), error).await),
    }
}
