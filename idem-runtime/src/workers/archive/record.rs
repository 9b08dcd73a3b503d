//! A record as a purge hands it over.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::stores::operate::{Cells, Dialect};
use crate::values::error::Error;
use crate::values::record::{AttemptId, Status, Timestamp};

/// A record that a purge is about to delete.
///
/// `Debug` shows no key, no scope and no payload.
#[derive(Clone)]
#[non_exhaustive]
pub struct PurgedRecord {
    /// The namespace.
    pub namespace: String,
    /// The scope; the empty text is that of all callers.
    pub scope: String,
    /// The key.
    pub key: String,
    /// The operation that claimed the key.
    pub operation: String,
    /// How it ended.
    pub status: Status,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The id of the attempt.
    pub attempt_id: AttemptId,
    /// When the record was written.
    pub created_at: Timestamp,
    /// When its retention ended; `None` for an unknown outcome.
    pub expires_at: Option<Timestamp>,
    /// The hash of the request, or `None` if the operation compares no requests.
    pub fingerprint: Option<Vec<u8>>,
    /// The SHA-256 of the result or failure, as it is stored; `None` if there is neither.
    pub payload_hash: Option<Vec<u8>>,
    /// The codec of the payloads, 1 for JSON.
    pub codec: i64,
    /// The request as it is stored, if payloads are asked for.
    pub request: Option<Vec<u8>>,
    /// The result as it is stored, if payloads are asked for.
    pub result: Option<Vec<u8>>,
    /// The failure as it is stored, if payloads are asked for.
    pub failure: Option<Vec<u8>>,
}

impl fmt::Debug for PurgedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PurgedRecord")
            .field("namespace", &self.namespace)
            .field("operation", &self.operation)
            .field("status", &self.status)
            .field("attempt_id", &self.attempt_id)
            .finish_non_exhaustive()
    }
}

/// The columns that [`read`] reads. Without payloads, the hash alone is read if the database can compute it.
pub(super) fn columns(dialect: &Dialect, payloads: bool) -> String {
    let ended = "coalesce(result, failure)";
    let hash = match dialect.sha256(ended) {
        Some(hash) => dialect.bytes_cell(&hash),
        None => dialect.bytes_cell(ended),
    };
    let mut columns = vec![
        dialect.text_cell("namespace"),
        dialect.text_cell("scope"),
        dialect.text_cell(dialect.key),
        dialect.text_cell("operation"),
        dialect.number_cell("status"),
        dialect.number_cell("attempt"),
        dialect.id_cell("attempt_id"),
        dialect.time_cell("created_at"),
        dialect.time_cell("expires_at"),
        dialect.bytes_cell("fingerprint"),
        hash,
        dialect.number_cell("codec"),
    ];
    if payloads {
        columns.extend(["request", "result", "failure"].map(|column| dialect.bytes_cell(column)));
    }
    columns.join(", ")
}

/// Reads a row of [`columns`].
pub(super) fn read(row: &Cells, dialect: &Dialect) -> Result<PurgedRecord, Error> {
    let unread = || Error::UnknownState {
        what: "column of a record to be purged, which this build cannot read; its number",
        value: 0,
    };
    let text = |column| row.text(column).map(ToOwned::to_owned).ok_or_else(unread);
    let code = row.number(4).and_then(|code| i16::try_from(code).ok());
    let ended = row.bytes(10);
    Ok(PurgedRecord {
        namespace: text(0)?,
        scope: text(1)?,
        key: text(2)?,
        operation: text(3)?,
        status: Status::from_code(code.ok_or_else(unread)?)?,
        attempt: row.number(5).ok_or_else(unread)?,
        attempt_id: row.attempt_id(6).ok_or_else(unread)?,
        created_at: row.time(7).ok_or_else(unread)?,
        expires_at: row.time(8),
        fingerprint: row.bytes(9),
        payload_hash: match dialect.sha256("") {
            Some(_) => ended,
            None => ended.map(|bytes| sha256(&bytes)),
        },
        codec: row.number(11).ok_or_else(unread)?,
        request: row.bytes(12),
        result: row.bytes(13),
        failure: row.bytes(14),
    })
}

pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}
