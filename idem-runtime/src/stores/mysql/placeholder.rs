//! The placeholder: the row whose lock is the claim, inserted, taken from a reclaimable record, or deleted.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Executor as _};

use super::claim::{MySqlClaimRequest, MySqlFound, seen_nothing};
use super::{error, newest, row, rows, sql, verify};
use crate::decision::Lock;
use crate::values::error::Error;

/// Claims: inserts the placeholder if there is no record, and looks the record up if there is one.
pub(super) async fn insert(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<MySqlFound, Error> {
    match rows(conn, sql::claim(request)).await {
        Ok(rows) => {
            let mut found = claimed(request, &rows)?;
            found.claim.dialect.placeholder = true;
            Ok(found)
        }
        Err(error) if error::is_conflict(&error) => found_reclaimable(conn, request, error).await,
        Err(error) => {
            let error = if error::is_missing(&error) {
                // A trigger's own table is missing, if the record's table is there.
                Error::Database(error.into())
            } else {
                error::table_error(error, &request.table)
            };
            Err(verify::why(conn, &request.table, error).await)
        }
    }
}

/// Returns the record that an INSERT has met, and thereby locked. Returns the error if there is no record: the
/// duplicate is in a table that a trigger writes.
pub(super) async fn found_reclaimable(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
    error: sqlx::Error,
) -> Result<MySqlFound, Error> {
    let found = newest(conn, request).await?;
    if found.lookup.record.is_none() {
        return Err(error::map_error(error));
    }
    Ok(found)
}

/// Claims an identity whose reclaimable record was found, by locking its row.
pub(super) async fn take_row(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<MySqlFound, Error> {
    let rows = rows(conn, sql::take_row(request))
        .await
        .map_err(|error| error::table_error(error, &request.table))?;
    let record = match rows.first() {
        Some(row) => row::record(row)?,
        None => None,
    };
    if record.is_none() {
        // The record was purged after it was read.
        return Err(Error::Busy(sqlx::Error::RowNotFound.into()));
    }
    let mut found = claimed(request, &rows)?;
    found.lookup.record = record;
    found.claim.dialect.locked = true;
    Ok(found)
}

/// Reads the facts after a claim: the table's definition, the clock, and whether the transaction still stands.
fn claimed(request: &MySqlClaimRequest, rows: &[MySqlRow]) -> Result<MySqlFound, Error> {
    let [.., definition, facts] = rows else {
        return Err(Error::Database(sqlx::Error::RowNotFound.into()));
    };
    row::stands(facts)?;
    let database_path = verify::database_path(facts);
    let mut found = seen_nothing(request, Lock::Granted);
    found.lookup.now = row::clock(facts)?;
    found.claim.verified =
        verify::is_known(&request.table, &verify::text(definition), &database_path);
    if let (true, Some(address)) = (found.claim.verified, request.pool_traits.address) {
        verify::remember_path(address, &request.table, &database_path);
    }
    found.claim.dialect.database_path = Some(database_path);
    Ok(found)
}

/// Deletes the placeholder of an attempt, if there is one, and returns the number of rows.
pub(super) async fn withdraw(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<u64, Error> {
    let done = conn
        .execute(sqlx::raw_sql(AssertSqlSafe(sql::withdraw(request))))
        .await
        .map_err(error::map_error)?;
    Ok(done.rows_affected())
}
