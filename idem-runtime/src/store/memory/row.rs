//! A record as it is kept, and what it is found by.

use std::fmt;

use crate::error::Error;
use crate::fingerprint::{FINGERPRINT_VERSION, Fingerprint};
use crate::identity::Identity;
use crate::policy::OnLapse;
use crate::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp, kept_request};
use crate::store::{ClaimRequest, NewRecord, Purgeable};

/// The primary key of a [`MemoryRow`], beside the table that it is in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct MemoryKey {
    /// The table. Every table is there; none need be made.
    pub table: String,
    /// The consumer's key space.
    pub namespace: String,
    /// The tenant or principal inside it; empty if global.
    pub scope: String,
    /// The caller's token.
    pub key: String,
}

impl fmt::Debug for MemoryKey {
    /// Shows neither scope nor key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryKey")
            .field("table", &self.table)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl MemoryKey {
    pub(super) fn of(request: &ClaimRequest) -> Self {
        Self::at(&request.table, &request.identity)
    }

    pub(super) fn at(table: &str, identity: &Identity) -> Self {
        Self {
            table: table.to_owned(),
            namespace: identity.namespace().to_owned(),
            scope: identity.scope().as_str().to_owned(),
            key: identity.key().as_str().to_owned(),
        }
    }
}

/// The columns of a record. Codes are plain numbers, so that a test can store one that no build
/// knows.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRow {
    /// Written at.
    pub created_at: Timestamp,
    /// Kept until; `None` is for ever.
    pub expires_at: Option<Timestamp>,
    /// Lease mode: owned until.
    pub locked_until: Option<Timestamp>,
    /// The attempt that wrote it.
    pub attempt_id: AttemptId,
    /// How many attempts the key has seen, from 1.
    pub attempt: i32,
    /// See [`Status::code`].
    pub status: i16,
    /// Which algorithm made `fingerprint`.
    pub fingerprint_version: i16,
    /// Which codec wrote the payloads; [`CODEC_JSON`].
    pub codec: i16,
    /// The operation that claimed the key.
    pub operation: String,
    /// The hash of the request.
    pub fingerprint: Option<Fingerprint>,
    /// The canonical request, if the store keeps it; empty if it was too large to.
    pub request: Option<Vec<u8>>,
    /// The encoded result.
    pub result: Option<Vec<u8>>,
    /// The encoded failure.
    pub failure: Option<Vec<u8>>,
    /// Lease mode: what a lapse comes to.
    pub on_lapse: OnLapse,
}

impl fmt::Debug for MemoryRow {
    /// Shows neither request nor result nor failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRow")
            .field("status", &self.status)
            .field("attempt", &self.attempt)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl MemoryRow {
    pub(super) fn new(attempt_id: AttemptId, record: &NewRecord<'_>, now: Timestamp) -> Self {
        Self {
            created_at: now,
            expires_at: Some(Timestamp::from_micros(
                now.as_micros().saturating_add(record.retention),
            )),
            locked_until: None,
            attempt_id,
            attempt: record.attempt,
            status: record.status.code(),
            fingerprint_version: FINGERPRINT_VERSION,
            codec: CODEC_JSON,
            operation: record.operation.to_owned(),
            fingerprint: record.fingerprint,
            request: record.request.map(<[u8]>::to_vec),
            result: record.result.map(<[u8]>::to_vec),
            failure: record.failure.map(<[u8]>::to_vec),
            on_lapse: OnLapse::Unknown,
        }
    }

    pub(super) fn record(self) -> Result<Record, Error> {
        let (request, request_too_large) = kept_request(self.request);
        Ok(Record {
            created_at: self.created_at,
            expires_at: self.expires_at,
            locked_until: self.locked_until,
            attempt_id: self.attempt_id,
            attempt: self.attempt,
            status: Status::from_code(self.status)?,
            fingerprint_version: self.fingerprint_version,
            codec: self.codec,
            operation: self.operation,
            fingerprint: self.fingerprint,
            request,
            request_too_large,
            result: self.result,
            failure: self.failure,
        })
    }

    fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Whether a purge deletes it: a lease (3) and an unknown outcome (4) never expire.
    pub(super) fn is_purged(&self, purgeable: Purgeable, now: Timestamp) -> bool {
        match purgeable {
            Purgeable::Expired => matches!(self.status, 1 | 2 | 5) && self.has_expired(now),
            Purgeable::Unknown(ago) => {
                let before = Timestamp::from_micros(now.as_micros().saturating_sub(ago));
                self.status == 4 && self.locked_until.is_some_and(|until| until <= before)
            }
        }
    }

    /// Whether a new record may take its place.
    pub(super) fn is_reclaimable(&self, now: Timestamp) -> bool {
        self.status == Status::Released.code() || self.has_expired(now)
    }
}
