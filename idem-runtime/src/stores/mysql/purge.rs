//! Deletes purgeable records in batches that are in no other transaction's way.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::super::row;
use super::super::session::Purgeable;
use super::{clock, error, last, rows, sql};
use crate::values::error::Error;

/// Deletes one batch; skips locked rows, and does not touch leases.
pub(super) async fn batch(
    conn: &mut MySqlConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<u64, Error> {
    let text = sql::purge(table, purgeable, limit, clock(conn).await?);
    if !conn.is_in_transaction() {
        match run(conn, table, sql::alone(&text)).await {
            Err(Error::AlreadyInTransaction) => {}
            done => return done,
        }
    }
    run(conn, table, text).await
}

/// Deletes one batch in its own transaction, if no other session of this server has the lead.
///
/// A named lock outlives a transaction, but not its session: a purge that is given up closes its connection. On
/// a cluster each node has a leader; they skip each other's rows or, at worst, one of two batches is rolled
/// back.
pub(super) async fn leading(
    conn: &mut MySqlConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<Option<u64>, Error> {
    let lead = rows(conn, sql::lead(table))
        .await
        .map_err(error::map_error)?;
    let leads = match lead.first() {
        Some(row) => row
            .try_get::<Option<i64>, _>("lead")
            .map_err(error::map_error)?
            .unwrap_or(0),
        None => 0,
    };
    if leads != 1 {
        return Ok(None);
    }
    let now = row::timestamp(&last(lead)?, "now")?;
    let statements = sql::purge_alone(table, purgeable, limit, now);
    let deleted = match run(conn, table, statements).await {
        Ok(deleted) => Some(deleted),
        // Another node's batch was first.
        Err(Error::TransactionLost(_)) => None,
        Err(error) => return Err(error),
    };
    rows(conn, sql::give_up_lead(table))
        .await
        .map_err(error::map_error)?;
    Ok(deleted)
}

async fn run(conn: &mut MySqlConnection, table: &str, text: String) -> Result<u64, Error> {
    let done = conn
        .execute(sqlx::raw_sql(AssertSqlSafe(text)))
        .await
        .map_err(|error| error::table_error(error, table))?;
    Ok(done.rows_affected())
}
