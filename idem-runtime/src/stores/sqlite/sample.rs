//! Looks at the whole table, for its metrics.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::super::session::TableSample;
use super::{hold, sql, wrong_or};
use crate::values::error::Error;

/// Looks by one statement. `unknown_for` is in microseconds.
pub(super) async fn sample(
    conn: &mut SqliteConnection,
    table: &str,
    unknown_for: i64,
) -> Result<TableSample, Error> {
    // What a hold keeps is not behind.
    let has_holds = hold::exist(conn, table).await?;
    let found = sqlx::query_as(AssertSqlSafe(sql::sample::sample(table, has_holds)))
        .bind(unknown_for)
        .fetch_one(&mut *conn)
        .await;
    match found {
        Ok((unknown, overdue)) => Ok(TableSample {
            unknown: i64::unsigned_abs(unknown),
            overdue: Option::unwrap_or(overdue, 0).max(0),
        }),
        Err(error) => Err(wrong_or(conn, table, error).await),
    }
}
