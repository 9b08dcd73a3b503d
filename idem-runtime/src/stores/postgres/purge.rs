//! Deletes purgeable records in batches that are in no other transaction's way.

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};

use super::super::session::Purgeable;
use super::statement::Statement;
use super::{error, sql};
use crate::values::error::Error;

/// Deletes one batch and returns the number of records.
pub(super) async fn batch(
    conn: &mut PgConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<u64, Error> {
    let (statement, ago) = sql::purge::batch(table, purgeable, conn.is_in_transaction());
    let done = Statement::new(statement, false)
        .bind(i64::from(limit))
        .bind(ago)
        .execute(conn)
        .await
        .map_err(|error| error::purge_error(error, table))?;
    Ok(done.rows_affected())
}

/// Deletes one batch in its own transaction, if no other node has the lead.
pub(super) async fn leading(
    conn: &mut PgConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<Option<u64>, Error> {
    let mut tx = conn
        .begin_with(sql::purge::BEGIN)
        .await
        .map_err(error::map_error)?;
    let leads: bool = Statement::new(sql::purge::lead(table), false)
        .fetch_one(&mut tx)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(|error| error::purge_error(error, table))?;
    let deleted = if leads {
        Some(batch(&mut tx, table, purgeable, limit).await?)
    } else {
        None
    };
    tx.commit().await.map_err(error::map_error)?;
    Ok(deleted)
}
