//! Reads the server's own counters.

use sqlx::{Connection as _, PgConnection, PgPool};

use crate::Fault;
use crate::numbers::float;

/// Returns the server's current WAL position.
pub(super) async fn position(observer: &mut PgConnection) -> Result<f64, Fault> {
    let position = sqlx::query_scalar("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8");
    Ok(position.fetch_one(observer).await?)
}

/// Closes a pool of one connection and waits for its counters.
pub(super) async fn close(pool: &PgPool, observer: &mut PgConnection) -> Result<(), Fault> {
    let pid = sqlx::query_scalar(PID).fetch_one(pool).await?;
    pool.close().await;
    gone(pid, observer).await
}

/// As [`close`], for a connection outside any pool.
pub(super) async fn end(
    mut session: PgConnection,
    observer: &mut PgConnection,
) -> Result<(), Fault> {
    let pid = sqlx::query_scalar(PID).fetch_one(&mut session).await?;
    session.close().await?;
    gone(pid, observer).await
}

const PID: &str = "SELECT pg_backend_pid()";

/// Waits for the end of a session, which reports its counters then at the latest.
async fn gone(pid: i32, observer: &mut PgConnection) -> Result<(), Fault> {
    while sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)")
        .bind(pid)
        .fetch_one(&mut *observer)
        .await?
    {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Returns how many pages of the record's table and of its indexes were asked for so far,
/// whether they were in memory or not.
pub(super) async fn pages(observer: &mut PgConnection) -> Result<f64, Fault> {
    let asked: i64 = sqlx::query_scalar(
        "SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit \
         FROM pg_statio_user_tables WHERE relname = 'idem_record'",
    )
    .fetch_one(observer)
    .await?;
    Ok(float(usize::try_from(asked)?))
}
