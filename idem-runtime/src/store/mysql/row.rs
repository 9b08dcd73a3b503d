//! From a row to a [`Record`].

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;
use uuid::Uuid;

use super::code::fold;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::record::{AttemptId, Record, Status, Timestamp};

/// The record of a look-up's row, if its columns are not all null.
pub(super) fn record(row: &MySqlRow) -> Result<Option<Record>, Error> {
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
        operation: text(row, "operation")?,
        fingerprint,
        request: row.try_get("request").map_err(fold)?,
        result: row.try_get("result").map_err(fold)?,
        failure: row.try_get("failure").map_err(fold)?,
    }))
}

/// A column of bytes that are UTF-8.
fn text(row: &MySqlRow, column: &str) -> Result<String, Error> {
    let bytes = row.try_get::<Vec<u8>, _>(column).map_err(fold)?;
    String::from_utf8(bytes).map_err(|error| fold(sqlx::Error::Decode(error.into())))
}

/// A column of microseconds since the epoch.
pub(super) fn timestamp(row: &MySqlRow, column: &str) -> Result<Timestamp, Error> {
    row.try_get(column)
        .map(Timestamp::from_micros)
        .map_err(fold)
}

/// What a look shows.
pub(super) struct Look {
    pub(super) now: Timestamp,
    pub(super) row: MySqlRow,
}

impl Look {
    /// Refuses a server that takes no writes: it may answer from an older state.
    pub(super) fn at(row: MySqlRow) -> Result<Self, Error> {
        Ok(Self {
            now: clock(&row)?,
            row,
        })
    }

    /// Whether there is a row for the identity at all.
    pub(super) fn is_there(&self) -> Result<bool, Error> {
        let status = self.row.try_get::<Option<i16>, _>("status").map_err(fold)?;
        Ok(status.is_some())
    }

    /// Whether it is a claim of this very session's.
    pub(super) fn is_own_claim(&self) -> Result<bool, Error> {
        let status = self.row.try_get::<Option<i16>, _>("status").map_err(fold)?;
        Ok(status == Some(CLAIM) && self.row.try_get::<i64, _>("own").map_err(fold)? == 1)
    }
}

/// The status of a placeholder. No record has it: one that is seen by others is an error.
const CLAIM: i16 = 0;

/// The server's clock, if it is a server that takes writes.
pub(super) fn clock(row: &MySqlRow) -> Result<Timestamp, Error> {
    if row.try_get::<i64, _>("read_only").map_err(fold)? != 0 {
        let error = sqlx::Error::Protocol("the server's read_only is on".to_owned());
        return Err(Error::ReadOnly(error.into()));
    }
    timestamp(row, "now")
}
