//! The record, and what belongs to it, in one message: the release of the savepoint before, the table's definition
//! if the claim has not read it, and whether the record is there.

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};

use super::super::session::{BodyWrites, NewRecord, Session as _, Written};
use super::claim::{MySqlClaimRequest, MySqlHeldClaim};
use super::in_sync::{self, Failed};
use super::message::goes_unasked;
use super::{error, look, row, rows, sql, verify};
use crate::values::error::Error;

/// Releases the savepoint and writes the record: in one message, unless the server must be asked before whether it
/// accepts one of this length.
pub(super) async fn record(
    conn: &mut MySqlConnection,
    claim: &MySqlHeldClaim,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> Result<Written, Error> {
    let unread = claim.dialect.unread;
    let text = sql::record::record(claim, record);
    if !goes_unasked(&text) {
        release(conn, claim, body_writes).await?;
        if unread {
            verify_behind(conn, claim).await?;
        }
        return write(conn, claim, record).await;
    }
    let release = sql::record::release_savepoint(&claim.request, body_writes);
    let text = format!("{}{text}", release.following);
    let rows = match in_sync::rows_behind(conn, &release.leading, &text).await {
        Ok(rows) => rows,
        Err(failed) if failed.done < release.length => {
            return Err(not_released(conn, claim, failed, body_writes).await);
        }
        Err(failed) => return Err(not_written(conn, claim, record, failed.error).await),
    };
    // If the claim is gone, this may be another table.
    let written = stands(conn, written(&rows)).await?;
    if unread && !is_as_known(claim, &rows) {
        verify_behind(conn, claim).await?;
    }
    Ok(written)
}

/// Releases the savepoint.
pub(super) async fn release(
    conn: &mut MySqlConnection,
    claim: &MySqlHeldClaim,
    body_writes: BodyWrites,
) -> Result<(), Error> {
    let release = sql::record::release_savepoint(&claim.request, body_writes);
    let text = format!("{}{}", release.following, sql::NOTHING);
    match in_sync::rows_behind(conn, &release.leading, &text).await {
        Ok(_) => Ok(()),
        Err(failed) => Err(not_released(conn, claim, failed, body_writes).await),
    }
}

/// Writes the record.
pub(super) async fn write(
    conn: &mut MySqlConnection,
    claim: &MySqlHeldClaim,
    record: &NewRecord<'_>,
) -> Result<Written, Error> {
    match rows(conn, sql::record::write(claim, record)).await {
        Ok(rows) => stands(conn, written(&rows)).await,
        Err(error) => Err(not_written(conn, claim, record, error).await),
    }
}

/// Returns whether the definition shown before the last answer is one that was found fit.
fn is_as_known(claim: &MySqlHeldClaim, rows: &[MySqlRow]) -> bool {
    let path = claim.dialect.database_path.as_deref().unwrap_or_default();
    match rows {
        [.., definition, _] => {
            verify::is_known(&claim.request.table, &verify::text(definition), path)
        }
        _ => false,
    }
}

/// Verifies the table behind a write. The next call verifies it before.
pub(super) async fn verify_behind(
    conn: &mut MySqlConnection,
    claim: &MySqlHeldClaim,
) -> Result<(), Error> {
    let verified = conn.verify(claim).await;
    if let (Err(_), Some(address)) = (&verified, claim.request.pool_traits.address) {
        verify::forget_path(address, &claim.request.table);
    }
    verified
}

fn written(rows: &[MySqlRow]) -> Result<Written, Error> {
    // Without a row, that which this transaction held is not there either. The last row is then the table's
    // definition, or none.
    let Some(row) = rows.last().filter(|row| row.try_column("ours").is_ok()) else {
        return Err(Error::TransactionEnded);
    };
    let says = |column: &str| row.try_get::<i64, _>(column).map_err(error::map_error);
    match (says("ours")?, says("whole")?) {
        (_, 1) => Ok(Written::Done),
        (1, _) => Err(Error::RecordNotWritten),
        _ if says("here")? == 0 => Err(Error::TransactionEnded),
        _ => Ok(Written::Conflict),
    }
}

/// Says why there is no record behind the release of the savepoint. The body had kept its transaction until then:
/// if it is gone, the server has undone it and reported no error (Galera; see `OPEN` in `sql`), and nothing remains.
async fn stands(
    conn: &mut MySqlConnection,
    written: Result<Written, Error>,
) -> Result<Written, Error> {
    if !matches!(written, Err(Error::TransactionEnded)) {
        return written;
    }
    match in_sync::send(conn, sql::CHECK_TRANSACTION).await {
        Err(error) if error::is_no_savepoint(&error) => Err(row::undone()),
        _ => written,
    }
}

/// Returns why the savepoint could not be released.
async fn not_released(
    conn: &mut MySqlConnection,
    claim: &MySqlHeldClaim,
    failed: Failed,
    body_writes: BodyWrites,
) -> Error {
    let error = failed.error;
    if in_sync::is_lost(&error) {
        return in_sync::map_error(error);
    }
    // If a body commits, its claim stays for all to see. If the claim is gone too, everything was rolled back:
    // typically by a deadlock that the body took for a failure of its own.
    if body_writes == BodyWrites::Discard
        && error::is_no_savepoint(&error)
        && claim.dialect.placeholder
    {
        return match is_claimed(conn, &claim.request).await {
            Ok(true) => Error::TransactionEnded,
            Ok(false) => Error::TransactionLost(error.into()),
            Err(error) => error,
        };
    }
    error::map_error(error)
}

/// Returns why the record could not be written.
async fn not_written(
    conn: &mut MySqlConnection,
    claim: &MySqlHeldClaim,
    record: &NewRecord<'_>,
    error: sqlx::Error,
) -> Error {
    if record.replaces.is_some() && error::is_unmet(&error) {
        return row::undone();
    }
    if !error::is_missing(&error) {
        return error::map_error(error);
    }
    // The table is not where it was: the body moved to another database, or dropped it. Or a trigger's own table is
    // missing, and the claim is still there.
    match is_claimed(conn, &claim.request).await {
        Ok(true) => Error::Database(error.into()),
        _ => Error::TransactionEnded,
    }
}

/// Returns whether the claim of this attempt is there.
async fn is_claimed(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<bool, Error> {
    let left = look(conn, request, sql::look_up(request)).await?;
    left.is_claim_of(request)
}
