//! Deletes purgeable records in batches that are in no other transaction's way.

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};

use super::super::session::Purgeable;
use super::statement::Statement;
use super::{error, hold, sql};
use crate::values::error::Error;

/// Deletes one batch and returns the number of records.
pub(super) async fn batch(
    conn: &mut PgConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<u64, Error> {
    if !hold::exist(conn, table).await? {
        return delete(conn, table, purgeable, limit, false).await;
    }
    if conn.is_in_transaction() || hold::is_begun_by_hand(conn).await? {
        hold::lock_existing(conn, table).await?;
        return delete(conn, table, purgeable, limit, true).await;
    }
    let mut tx = conn
        .begin_with(sql::purge::BEGIN)
        .await
        .map_err(error::map_error)?;
    hold::lock_existing(&mut tx, table).await?;
    let deleted = delete(&mut tx, table, purgeable, limit, true).await?;
    tx.commit().await.map_err(error::map_error)?;
    Ok(deleted)
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
    let (leads, has_holds) = lead(&mut tx, table).await?;
    let deleted = if leads {
        if has_holds {
            hold::lock_existing(&mut tx, table).await?;
        }
        Some(delete(&mut tx, table, purgeable, limit, has_holds).await?)
    } else {
        None
    };
    tx.commit().await.map_err(error::map_error)?;
    Ok(deleted)
}

/// Asks for the lead until the transaction ends, and whether there is a table of holds.
pub(super) async fn lead(conn: &mut PgConnection, table: &str) -> Result<(bool, bool), Error> {
    Statement::new(sql::purge::lead(table), false)
        .fetch_one(conn)
        .await
        .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .map_err(|error| error::purge_error(error, table))
}

async fn delete(
    conn: &mut PgConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
    has_holds: bool,
) -> Result<u64, Error> {
    let is_in_transaction = conn.is_in_transaction();
    let (statement, ago) = sql::purge::batch(table, purgeable, is_in_transaction, has_holds);
    let done = Statement::new(statement, false)
        .bind(i64::from(limit))
        .bind(ago)
        .execute(conn)
        .await
        .map_err(|error| error::purge_error(error, table))?;
    Ok(done.rows_affected())
}
