//! Searches for lapsed leases.

use sqlx::mysql::MySqlConnection;

use super::super::lapsed::{LapsedLease, LapsedSearch};
use super::super::row::lapsed_lease;
use super::{alone, error, row, sql};
use crate::values::error::Error;

/// Searches by one statement, in a transaction of its own.
pub(super) async fn lapsed(
    conn: &mut MySqlConnection,
    search: &LapsedSearch<'_>,
) -> Result<Vec<LapsedLease>, Error> {
    let found = alone(conn, sql::lapsed::search(search))
        .await
        .map_err(|error| error::table_error(error, search.table))?;
    found
        .iter()
        .map(|row| lapsed_lease(row, row::text))
        .collect()
}
