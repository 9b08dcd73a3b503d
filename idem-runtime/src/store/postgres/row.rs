//! From a row to a [`Record`].

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::code::fold;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::record::{AttemptId, Record, Status, Timestamp};

/// The record of a look-up's row, if its columns are not all null.
pub(super) fn record(row: &PgRow) -> Result<Option<Record>, Error> {
    let Some(status) = row.try_get::<Option<i16>, _>("status").map_err(fold)? else {
        return Ok(None);
    };
    let fingerprint = match row
        .try_get::<Option<Vec<u8>>, _>("fingerprint")
        .map_err(fold)?
    {
        None => None,
        Some(bytes) => Some(Fingerprint::from_bytes(bytes.try_into().map_err(
            |bytes: Vec<u8>| Error::UnknownState {
                what: "fingerprint length",
                value: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            },
        )?)),
    };
    Ok(Some(Record {
        created_at: timestamp(row, "created_at")?,
        expires_at: row
            .try_get::<Option<i64>, _>("expires_at")
            .map_err(fold)?
            .map(Timestamp::from_micros),
        locked_until: row
            .try_get::<Option<i64>, _>("locked_until")
            .map_err(fold)?
            .map(Timestamp::from_micros),
        attempt_id: AttemptId::from_uuid(row.try_get::<Uuid, _>("attempt_id").map_err(fold)?),
        attempt: row.try_get("attempt").map_err(fold)?,
        status: Status::from_code(status)?,
        fingerprint_version: row.try_get("fingerprint_version").map_err(fold)?,
        codec: row.try_get("codec").map_err(fold)?,
        operation: row.try_get("operation").map_err(fold)?,
        fingerprint,
        request: row.try_get("request").map_err(fold)?,
        result: row.try_get("result").map_err(fold)?,
        failure: row.try_get("failure").map_err(fold)?,
    }))
}

/// A column of microseconds since the epoch.
pub(super) fn timestamp(row: &PgRow, column: &str) -> Result<Timestamp, Error> {
    row.try_get(column)
        .map(Timestamp::from_micros)
        .map_err(fold)
}
