//! Legal holds.

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};

use super::super::hold::{hold_table_of, lock_table_of, no_lock};
use super::{error, last, rows, sql};
use crate::values::error::Error;
use crate::values::key::Scope;

/// Returns whether there is a table of holds.
pub(super) async fn exist(conn: &mut MySqlConnection, table: &str) -> Result<bool, Error> {
    let found = rows(conn, sql::hold::exist(table)).await;
    are_told_of(&last(found.map_err(error::map_error)?)?)
}

/// Reads the column `holds`.
pub(super) fn are_told_of(row: &MySqlRow) -> Result<bool, Error> {
    let holds: i64 = row.try_get("holds").map_err(error::map_error)?;
    Ok(holds > 0)
}

/// Locks the holds until the transaction ends, if there is a table of them.
pub(super) async fn lock(conn: &mut MySqlConnection, table: &str) -> Result<bool, Error> {
    if !exist(conn, table).await? {
        return Ok(false);
    }
    let lock = rows(conn, sql::hold::lock(table)).await;
    let lock = lock.map_err(|error| error::table_error(error, &lock_table_of(table)))?;
    if lock.is_empty() {
        return Err(no_lock());
    }
    Ok(true)
}

pub(super) async fn is_held(
    conn: &mut MySqlConnection,
    table: &str,
    scope: &Scope,
) -> Result<bool, Error> {
    if !lock(conn, table).await? {
        return Ok(false);
    }
    let found = rows(conn, sql::hold::find(table, scope)).await;
    let found = found.map_err(|error| error::table_error(error, &hold_table_of(table)))?;
    Ok(!found.is_empty())
}
