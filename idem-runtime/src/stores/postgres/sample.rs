//! Looks at the whole table, for its metrics.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::super::session::TableSample;
use super::statement::Statement;
use super::{error, hold, sql};
use crate::values::error::Error;

/// Looks by one statement. The time is in microseconds.
pub(super) async fn sample(
    conn: &mut PgConnection,
    table: &str,
    unknown_for: i64,
) -> Result<TableSample, Error> {
    // What a hold keeps is not behind.
    let has_holds = hold::exist(conn, table).await?;
    let read = async {
        let statement = Statement::new(sql::sample::sample(table, has_holds), false);
        let statement = statement.bind(unknown_for);
        let row = statement.fetch_one(conn).await?;
        let unknown: i64 = row.try_get("unknown")?;
        Ok(TableSample {
            unknown: unknown.unsigned_abs(),
            overdue: row
                .try_get::<Option<i64>, _>("overdue")?
                .unwrap_or(0)
                .max(0),
        })
    };
    read.await
        .map_err(|error| error::table_error(error, table, "SELECT"))
}
