//! Legal holds.

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};

use super::super::hold::{hold_table_of, lock_table_of, no_lock};
use super::statement::Statement;
use super::{error, sql};
use crate::values::error::Error;
use crate::values::key::Scope;

/// Returns whether there is a table of holds.
pub(super) async fn exist(conn: &mut PgConnection, table: &str) -> Result<bool, Error> {
    let statement = Statement::new(sql::hold::exist(table), false);
    let row = statement.fetch_one(conn).await;
    row.and_then(|row| row.try_get(0)).map_err(error::map_error)
}

/// Returns whether a transaction is open that the driver does not count.
pub(super) async fn is_begun_by_hand(conn: &mut PgConnection) -> Result<bool, Error> {
    let row = conn.fetch_one(sqlx::raw_sql(sql::IS_BEGUN_BY_HAND)).await;
    row.and_then(|row| row.try_get(0)).map_err(error::map_error)
}

/// Locks the holds until the transaction ends. There is a table of them.
pub(super) async fn lock_existing(conn: &mut PgConnection, table: &str) -> Result<(), Error> {
    let rows = Statement::new(sql::hold::lock(table), false)
        .fetch_all(conn)
        .await
        .map_err(|error| error::table_error(error, &lock_table_of(table), "SELECT, UPDATE"))?;
    if rows.is_empty() {
        return Err(no_lock());
    }
    Ok(())
}

/// Locks the holds until the transaction ends, if there is a table of them.
pub(super) async fn lock(conn: &mut PgConnection, table: &str) -> Result<bool, Error> {
    let exist = exist(conn, table).await?;
    if exist {
        lock_existing(conn, table).await?;
    }
    Ok(exist)
}

pub(super) async fn is_held(
    conn: &mut PgConnection,
    table: &str,
    scope: &Scope,
) -> Result<bool, Error> {
    if !lock(conn, table).await? {
        return Ok(false);
    }
    let found = Statement::new(sql::hold::find(table), false)
        .bind(scope.as_str())
        .fetch_all(conn)
        .await
        .map_err(|error| error::table_error(error, &hold_table_of(table), "SELECT"))?;
    Ok(!found.is_empty())
}
