//! Reads a row into a [`Record`].

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;
use uuid::Uuid;

use super::super::row;
use super::claim::MySqlClaimRequest;
use super::error::map_error;
use super::unit;
use crate::values::error::Error;
use crate::values::record::{Record, Timestamp};

/// Returns the record of a look-up's row, if its columns are not all null.
pub(super) fn record(row: &MySqlRow) -> Result<Option<Record>, Error> {
    row::record(row, text)
}

/// Reads a column of bytes that are UTF-8.
pub(super) fn text(row: &MySqlRow, column: &str) -> Result<String, Error> {
    let bytes = row.try_get::<Vec<u8>, _>(column).map_err(map_error)?;
    String::from_utf8(bytes).map_err(|error| map_error(sqlx::Error::Decode(error.into())))
}

/// The row of a look-up.
pub(super) struct Look {
    pub(super) now: Timestamp,
    pub(super) row: MySqlRow,
}

impl Look {
    /// Refuses a server that accepts no writes: it may answer from an older state.
    pub(super) fn at(row: MySqlRow) -> Result<Self, Error> {
        if row.try_get::<i64, _>("chains").map_err(map_error)? != 0 {
            unit::restore_from_now_on();
        }
        Ok(Self {
            now: clock(&row)?,
            row,
        })
    }

    /// Returns whether the identity has a row at all.
    pub(super) fn is_there(&self) -> Result<bool, Error> {
        let status = self
            .row
            .try_get::<Option<i16>, _>("status")
            .map_err(map_error)?;
        Ok(status.is_some())
    }

    /// Returns whether the row is a claim of this session.
    pub(super) fn is_own_claim(&self) -> Result<bool, Error> {
        let status = self
            .row
            .try_get::<Option<i16>, _>("status")
            .map_err(map_error)?;
        Ok(status == Some(CLAIM) && self.row.try_get::<i64, _>("own").map_err(map_error)? == 1)
    }

    /// Returns whether the row is the claim of this attempt.
    pub(super) fn is_claim_of(&self, request: &MySqlClaimRequest) -> Result<bool, Error> {
        let status = self
            .row
            .try_get::<Option<i16>, _>("status")
            .map_err(map_error)?;
        let attempt = self
            .row
            .try_get::<Option<Uuid>, _>("attempt_id")
            .map_err(map_error)?;
        Ok(status == Some(CLAIM) && attempt == Some(request.attempt_id.as_uuid()))
    }
}

/// The status of a placeholder. No record has it: if others see it, that is an error.
const CLAIM: i16 = 0;

/// Refuses to go on if the server has rolled the transaction back and reported success.
pub(super) fn stands(row: &MySqlRow) -> Result<(), Error> {
    if row.try_get::<i64, _>("open").map_err(map_error)? != 0 {
        return Ok(());
    }
    Err(undone())
}

/// Returns the error of a transaction that the server has rolled back without reporting an error.
pub(super) fn undone() -> Error {
    let message = "the server rolled the transaction back and reported no error";
    Error::TransactionLost(sqlx::Error::Protocol(message.to_owned()).into())
}

/// Returns the server's time, if the server accepts writes.
pub(super) fn clock(row: &MySqlRow) -> Result<Timestamp, Error> {
    if row.try_get::<i64, _>("read_only").map_err(map_error)? != 0 {
        let error = sqlx::Error::Protocol("the server's read_only is on".to_owned());
        return Err(Error::ReadOnly(error.into()));
    }
    row::timestamp(row, "now")
}
