//! Reads a look-up's row into a [`Record`], for any database: the columns have the same names, and times are
//! microseconds.

use sqlx::{ColumnIndex, Decode, Row, Type};
use uuid::Uuid;

use super::backend::Backend;
use super::lapsed::LapsedLease;
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::record::{AttemptId, Record, Status, Timestamp, kept_request};

/// Returns the record, if its columns are not all null. `text` reads a column of text.
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(super) fn record<R>(
    row: &R,
    text: fn(&R, &str) -> Result<String, Error>,
) -> Result<Option<Record>, Error>
where
    R: Row<Database: Backend>,
    for<'i> &'i str: ColumnIndex<R>,
    for<'r> i16: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i32: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> Uuid: Decode<'r, R::Database> + Type<R::Database>,
{
    let bytes = |row: &R, column: &str| {
        row.try_get(column)
            .map_err(<R::Database as Backend>::map_error)
    };
    record_by(row, text, bytes)
}

/// Reads a column of bytes; `None` if it is null.
type ReadBytes<R> = fn(&R, &str) -> Result<Option<Vec<u8>>, Error>;

/// Does the same as [`record`] where bytes have a dialect's own form: `bytes` reads a column of them.
pub(super) fn record_by<R>(
    row: &R,
    text: fn(&R, &str) -> Result<String, Error>,
    bytes: ReadBytes<R>,
) -> Result<Option<Record>, Error>
where
    R: Row<Database: Backend>,
    for<'i> &'i str: ColumnIndex<R>,
    for<'r> i16: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i32: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> Uuid: Decode<'r, R::Database> + Type<R::Database>,
{
    let map_error = <R::Database as Backend>::map_error;
    let Some(status) = row.try_get::<Option<i16>, _>("status").map_err(map_error)? else {
        return Ok(None);
    };
    let fingerprint = fingerprint(bytes(row, "fingerprint")?)?;
    let status = Status::from_code(status)?;
    let (request, request_too_large) = kept_request(bytes(row, "request")?);
    let time = |column| row.try_get::<Option<i64>, _>(column).map_err(map_error);
    let record = Record {
        created_at: timestamp(row, "created_at")?,
        expires_at: time("expires_at")?.map(Timestamp::from_micros),
        locked_until: time("locked_until")?.map(Timestamp::from_micros),
        attempt_id: AttemptId::from_uuid(row.try_get("attempt_id").map_err(map_error)?),
        attempt: row.try_get("attempt").map_err(map_error)?,
        status,
        fingerprint_version: row.try_get("fingerprint_version").map_err(map_error)?,
        codec: row.try_get("codec").map_err(map_error)?,
        operation: text(row, "operation")?,
        fingerprint,
        request,
        request_too_large,
        result: bytes(row, "result")?,
        failure: bytes(row, "failure")?,
    };
    check_columns(&record)?;
    Ok(Some(record))
}

/// Reads a lapsed lease, as the search for them returns it. `text` reads a column of text.
pub(super) fn lapsed_lease<R>(
    row: &R,
    text: fn(&R, &str) -> Result<String, Error>,
) -> Result<LapsedLease, Error>
where
    R: Row<Database: Backend>,
    for<'i> &'i str: ColumnIndex<R>,
    for<'r> i32: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> Uuid: Decode<'r, R::Database> + Type<R::Database>,
{
    let map_error = <R::Database as Backend>::map_error;
    Ok(LapsedLease {
        namespace: text(row, "namespace")?,
        operation: text(row, "operation")?,
        scope: text(row, "scope")?,
        key: text(row, "key")?,
        attempt_id: AttemptId::from_uuid(row.try_get("attempt_id").map_err(map_error)?),
        attempt: row.try_get("attempt").map_err(map_error)?,
        locked_until: timestamp(row, "locked_until")?,
        now: timestamp(row, "now")?,
    })
}

/// Reads a stored fingerprint.
pub(super) fn fingerprint(bytes: Option<Vec<u8>>) -> Result<Option<Fingerprint>, Error> {
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let hash = bytes
        .try_into()
        .map_err(|bytes: Vec<u8>| Error::UnknownState {
            what: "fingerprint length",
            value: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        })?;
    Ok(Some(Fingerprint::from_bytes(hash)))
}

/// Refuses a record that has a column which its status excludes, or lacks one that it demands. The library
/// writes no such record, but the tables do not refuse every one that another program writes.
pub(super) fn check_columns(record: &Record) -> Result<(), Error> {
    let (result, failure, lease) = match record.status {
        Status::Completed => (true, false, false),
        Status::Failed => (false, true, false),
        Status::InProgress | Status::Unknown => (false, false, true),
        Status::Released => (false, false, false),
    };
    let fits = record.result.is_some() == result
        && record.failure.is_some() == failure
        && record.locked_until.is_some() == lease
        && (!lease || record.expires_at.is_none());
    if fits {
        return Ok(());
    }
    Err(Error::UnknownState {
        what: "status, for the columns that are set,",
        value: record.status.code().into(),
    })
}

/// Reads a time that is never null.
pub(super) fn timestamp<R>(row: &R, column: &str) -> Result<Timestamp, Error>
where
    R: Row<Database: Backend>,
    for<'i> &'i str: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(column)
        .map(Timestamp::from_micros)
        .map_err(<R::Database as Backend>::map_error)
}

/// Reads a column of text, if no setting of a session changes its form.
#[cfg(feature = "sqlite")]
pub(super) fn text<R>(row: &R, column: &str) -> Result<String, Error>
where
    R: Row<Database: Backend>,
    for<'i> &'i str: ColumnIndex<R>,
    for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(column)
        .map_err(<R::Database as Backend>::map_error)
}
