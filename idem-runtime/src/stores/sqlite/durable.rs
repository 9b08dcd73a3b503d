//! Commits that are on the disk when they answer, whatever the connection's setting.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use super::error;
use super::sql::{self, parts};
use crate::values::error::Error;

/// `PRAGMA synchronous = FULL`: COMMIT returns when its pages are on the disk.
const FULL: i64 = 2;

/// Makes a lease's COMMIT survive a power failure, because the effect that follows it is outside the database.
/// Returns the level to restore, if it was lower. The level cannot be changed inside a transaction.
pub(super) async fn make_durable(
    conn: &mut SqliteConnection,
    table: &str,
) -> Result<Option<i64>, Error> {
    let (schema, _) = parts(table);
    let level: i64 = sqlx::query_scalar(AssertSqlSafe(sql::synchronous(schema)))
        .fetch_one(&mut *conn)
        .await
        .map_err(error::map_error)?;
    if level >= FULL {
        return Ok(None);
    }
    // Inside a transaction it fails with a plain error, even if the driver does not know of the transaction.
    let statement = AssertSqlSafe(sql::set_synchronous(schema, FULL));
    conn.execute(statement).await.map_err(error::begin_error)?;
    Ok(Some(level))
}

pub(super) async fn restore(conn: &mut SqliteConnection, table: &str, level: Option<i64>) {
    if let Some(level) = level {
        // A connection that stays more durable than it was set to be does no harm.
        let (schema, _) = parts(table);
        let statement = AssertSqlSafe(sql::set_synchronous(schema, level));
        let _ = conn.execute(statement).await;
    }
}
