//! The stored record: one row per key, written by one attempt and read by every later caller.

use std::fmt;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use crate::values::error::Error;
use crate::values::fingerprint::{FINGERPRINT_VERSION, Fingerprint};

/// Payload codec 1: JSON text in UTF-8, as `serde_json` writes it.
pub(crate) const CODEC_JSON: i16 = 1;

/// How a record's payloads and its fingerprint are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordFormat {
    pub(crate) codec: i16,
    pub(crate) fingerprint_version: i16,
}

impl RecordFormat {
    /// JSON in clear, and a fingerprint without a key.
    pub(crate) const CLEAR: Self = Self {
        codec: CODEC_JSON,
        fingerprint_version: FINGERPRINT_VERSION,
    };
}

/// Microseconds since 1970-01-01T00:00:00Z, read from the database's clock.
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::record::Timestamp;
///
/// let (earlier, later) = (Timestamp::from_micros(1_000_000), Timestamp::from_micros(1_500_000));
/// assert_eq!(later.since(earlier), Duration::from_millis(500));
/// assert_eq!(earlier.since(later), Duration::ZERO);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(at: Timestamp) -> Self {
        let distance = Duration::from_micros(at.0.unsigned_abs());
        if at.0 < 0 {
            Self::UNIX_EPOCH - distance
        } else {
            Self::UNIX_EPOCH + distance
        }
    }
}

/// Identifies one attempt of an operation. The id is random: if the stored id equals an attempt's
/// own id, the record or lock belongs to that attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttemptId(Uuid);

impl AttemptId {
    /// Creates a random id (UUID version 4, RFC 9562).
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Creates an id from a stored UUID.
    pub(crate) const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    /// Returns the UUID as it is stored.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Debug for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AttemptId {
    /// Writes 32 lower-case hexadecimal digits, safe to splice into SQL text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0.as_simple(), f)
    }
}

/// The state of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The body succeeded; `result` holds the value it returned.
    Completed,
    /// The body failed permanently; `failure` holds the failure.
    Failed,
    /// Lease mode: an attempt owns the key until `locked_until`.
    InProgress,
    /// Lease mode: the lease of an attempt lapsed, and it is not known whether the attempt's effect
    /// happened.
    Unknown,
    /// Lease mode: an attempt released the key; the next caller may claim it.
    Released,
}

impl Status {
    /// Returns the code as it is stored.
    pub const fn code(self) -> i16 {
        match self {
            Self::Completed => 1,
            Self::Failed => 2,
            Self::InProgress => 3,
            Self::Unknown => 4,
            Self::Released => 5,
        }
    }

    /// Converts a stored code.
    ///
    /// # Errors
    /// [`Error::UnknownState`] if this build does not know the code. An unknown code is never read
    /// as an absent record.
    pub fn from_code(code: i16) -> Result<Self, Error> {
        match code {
            1 => Ok(Self::Completed),
            2 => Ok(Self::Failed),
            3 => Ok(Self::InProgress),
            4 => Ok(Self::Unknown),
            5 => Ok(Self::Released),
            other => Err(Error::UnknownState {
                what: "status",
                value: i64::from(other),
            }),
        }
    }
}

/// One stored record, as it was read by its identity.
///
/// `Debug` prints the sizes of request, result and failure in bytes, not their content.
#[derive(Clone)]
#[non_exhaustive]
pub struct Record {
    /// When the record was written, by the database's clock.
    pub created_at: Timestamp,
    /// When the retention ends, by the database's clock. `None` while a lease holds the record: the
    /// column then stores infinity, so that no purge deletes a live lease.
    pub expires_at: Option<Timestamp>,
    /// Lease mode: when the lease ends, by the database's clock.
    pub locked_until: Option<Timestamp>,
    /// The attempt that wrote the record.
    pub attempt_id: AttemptId,
    /// The number of this attempt of the key, from 1.
    pub attempt: i32,
    /// The state of the record.
    pub status: Status,
    /// The version of the algorithm that computed `fingerprint`.
    pub fingerprint_version: i16,
    /// The codec of `request`, `result` and `failure`: 1 for JSON. With 2 each says by its first byte how it is read
    /// (encrypted, compressed), and only the codec of its operation reads it.
    pub codec: i16,
    /// The operation that claimed the key.
    pub operation: String,
    /// The hash of the request, or `None` if the operation compares no requests.
    pub fingerprint: Option<Fingerprint>,
    /// The canonical request, if the operation records requests and the request is within its
    /// limit.
    pub request: Option<Vec<u8>>,
    /// Whether the request exceeded the limit, so that only its hash is stored.
    pub request_too_large: bool,
    /// The encoded result of a completed operation. Above version 1 its version stands before the JSON: `v2 {..}`.
    pub result: Option<Vec<u8>>,
    /// The encoded [`StoredFailure`](crate::StoredFailure) of a failed operation, with its version as the result.
    pub failure: Option<Vec<u8>>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |payload: &Option<Vec<u8>>| payload.as_ref().map(Vec::len);
        f.debug_struct("Record")
            .field("created_at", &self.created_at)
            .field("expires_at", &self.expires_at)
            .field("locked_until", &self.locked_until)
            .field("attempt_id", &self.attempt_id)
            .field("attempt", &self.attempt)
            .field("status", &self.status)
            .field("fingerprint_version", &self.fingerprint_version)
            .field("codec", &self.codec)
            .field("operation", &self.operation)
            .field("fingerprint", &self.fingerprint)
            .field("request_bytes", &bytes(&self.request))
            .field("request_too_large", &self.request_too_large)
            .field("result_bytes", &bytes(&self.result))
            .field("failure_bytes", &bytes(&self.failure))
            .finish()
    }
}

/// The stored form of a request above the limit. It is unambiguous, because a request is JSON and
/// therefore never empty.
const TOO_LARGE: &[u8] = b"";

/// Returns the bytes to store for a canonical request: all of it, or [`TOO_LARGE`] if it is longer
/// than `limit` bytes.
pub(crate) fn stored_request(canonical: &[u8], limit: usize) -> &[u8] {
    if canonical.len() > limit {
        TOO_LARGE
    } else {
        canonical
    }
}

/// Returns the stored request, and whether the request was too large to store.
pub(crate) fn kept_request(stored: Option<Vec<u8>>) -> (Option<Vec<u8>>, bool) {
    match stored {
        Some(stored) if stored == TOO_LARGE => (None, true),
        stored => (stored, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_survives_its_code_and_no_other_code_is_read() {
        for code in -3..=9 {
            match Status::from_code(code) {
                Ok(status) => assert_eq!(status.code(), code),
                Err(error) => assert!(!(1..=5).contains(&code), "{error}"),
            }
        }
    }

    #[test]
    fn an_attempt_id_prints_as_hex_only() {
        let text = AttemptId::random().to_string();
        assert_eq!(text.len(), 32);
        assert!(
            text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
            "{text}"
        );
    }

    #[test]
    fn a_timestamp_before_the_epoch_is_a_time_before_the_epoch() {
        let at = SystemTime::from(Timestamp::from_micros(-1));
        assert_eq!(
            SystemTime::UNIX_EPOCH.duration_since(at).unwrap(),
            Duration::from_micros(1)
        );
    }
}
