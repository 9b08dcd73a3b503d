//! Looks at the whole table, for its metrics.

use sqlx::Row as _;
use sqlx::mysql::MySqlConnection;

use super::super::session::TableSample;
use super::{alone, clock, error, hold, last, sql};
use crate::values::error::Error;

/// Looks by one statement, at the server's time. `unknown_for` is in microseconds.
pub(super) async fn sample(
    conn: &mut MySqlConnection,
    table: &str,
    unknown_for: i64,
) -> Result<TableSample, Error> {
    let now = clock(conn).await?;
    // What a hold keeps is not behind.
    let has_holds = hold::exist(conn, table).await?;
    let found = alone(
        conn,
        sql::sample::sample(table, unknown_for, now, has_holds),
    )
    .await
    .map_err(|error| error::table_error(error, table))?;
    let row = last(found)?;
    let unknown: i64 = row.try_get("unknown").map_err(error::map_error)?;
    let oldest: Option<i64> = row.try_get("oldest").map_err(error::map_error)?;
    Ok(TableSample {
        unknown: unknown.unsigned_abs(),
        overdue: oldest.map_or(0, |oldest| now.as_micros().saturating_sub(oldest).max(0)),
    })
}
