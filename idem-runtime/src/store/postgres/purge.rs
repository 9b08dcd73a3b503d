//! Deleting what has expired, in batches that stand in nobody's way.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::code::fold;
use crate::error::Error;

/// One batch: locked rows are skipped, leases and unknown outcomes are not touched.
pub(super) async fn batch(conn: &mut PgConnection, table: &str, limit: u32) -> Result<u64, Error> {
    let statement = format!(
        "WITH spent AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
         WHERE status IN (1, 2, 5) AND expires_at <= clock_timestamp() \
         ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED) \
         DELETE FROM {table} AS r USING spent \
         WHERE r.namespace = spent.namespace AND r.scope = spent.scope AND r.key = spent.key"
    );
    let done = sqlx::query(AssertSqlSafe(statement))
        .bind(i64::from(limit))
        .execute(conn)
        .await
        .map_err(fold)?;
    Ok(done.rows_affected())
}
