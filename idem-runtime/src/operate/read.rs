//! One record as an operator reads it, without its payloads.

use super::status::StoredStatus;
use crate::stores::operate::{Cells, Dialect};
use crate::values::error::Error;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Namespace, Scope};
use crate::values::policy::{MAX_RETENTION, OnLapse};
use crate::values::record::{AttemptId, Timestamp};

/// Namespace, scope and key of a record, as they are stored.
///
/// `Debug` leaves out the key and the scope: they may be personal data.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey {
    namespace: Namespace,
    scope: Scope,
    key: String,
}

impl std::fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordKey")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl RecordKey {
    /// Creates the name of a record.
    pub fn new(namespace: Namespace, scope: Scope, key: &IdempotencyKey) -> Self {
        Self {
            namespace,
            scope,
            key: key.as_str().to_owned(),
        }
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> &str {
        self.namespace.as_str()
    }

    /// Returns the scope; the empty text is [`Scope::GLOBAL`].
    pub fn scope(&self) -> &str {
        self.scope.as_str()
    }

    /// Returns the key.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn identity(&self) -> Result<Identity, Error> {
        let key = self.key.parse::<IdempotencyKey>()?;
        Ok(Identity::new(&self.namespace, self.scope.clone(), key))
    }

    /// The condition that finds the record.
    pub(super) fn condition(&self, dialect: &Dialect) -> String {
        format!(
            "namespace = {} AND scope = {} AND {} = {}",
            dialect.text(self.namespace()),
            dialect.text(self.scope()),
            dialect.key,
            dialect.text(self.key()),
        )
    }
}

/// One record, without its payloads. It is changed only as it was read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordSummary {
    /// Namespace, scope and key.
    pub record_key: RecordKey,
    /// The operation that claimed the key.
    pub operation: String,
    /// The status.
    pub status: StoredStatus,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The id of the attempt.
    pub attempt_id: AttemptId,
    /// Of a lease, what its lapse means.
    pub on_lapse: Option<OnLapse>,
    /// When the record was written.
    pub created_at: Timestamp,
    /// When its retention ends; `None` if it never does.
    pub expires_at: Option<Timestamp>,
    /// When the lease ends, or ended.
    pub locked_until: Option<Timestamp>,
    /// The codec of the payloads: 1 for JSON in clear, 2 if each says by its first byte how it is read
    /// ([`PayloadForm`](super::PayloadForm)).
    pub codec: i64,
    /// The length of the request that was kept, in bytes; 0 if it was too large to be kept.
    pub request_bytes: Option<u64>,
    /// The length of the result, in bytes.
    pub result_bytes: Option<u64>,
    /// The length of the failure, in bytes.
    pub failure_bytes: Option<u64>,
    /// The database's clock when the record was read.
    pub read_at: Timestamp,
}

impl RecordSummary {
    /// Returns whether the record is a lease that ended without an end of its attempt.
    pub fn is_lapsed(&self) -> bool {
        self.status == StoredStatus::IN_PROGRESS
            && self.locked_until.is_some_and(|until| until <= self.read_at)
    }

    /// Returns whether the retention has ended, so that a purge deletes the record.
    pub fn is_expired(&self) -> bool {
        self.status.is_final() && self.expires_at.is_some_and(|at| at <= self.read_at)
    }

    /// Returns the key that the attempt gave its provider; see
    /// [`Attempt::external_key`](crate::Attempt::external_key).
    pub fn external_key(&self) -> Option<String> {
        let identity = self.record_key.identity().ok()?;
        Some(identity.external_key(""))
    }
}

/// The condition that all leases and unknown outcomes meet, and no other record: it is that of their index, and leaves out
/// what has no lease where the index has it too.
pub(super) fn leases(dialect: &Dialect) -> String {
    format!(
        "status IN ({}, {}) AND locked_until > {}",
        StoredStatus::IN_PROGRESS.code(),
        StoredStatus::UNKNOWN.code(),
        dialect.time(Timestamp::from_micros(0)),
    )
}

/// The condition that all ended records meet whose retention ends at `until` or before, and no other record: a lease never
/// expires.
pub(super) fn ended(dialect: &Dialect, until: Timestamp) -> String {
    format!(
        "status IN ({}, {}, {}) AND expires_at <= {}",
        StoredStatus::COMPLETED.code(),
        StoredStatus::FAILED.code(),
        StoredStatus::RELEASED.code(),
        dialect.time(until),
    )
}

/// The latest time at which a retention can end.
pub(super) fn last_expiry(now: Timestamp) -> Timestamp {
    let longest = i64::try_from(MAX_RETENTION.as_micros()).unwrap_or(i64::MAX);
    // Twice: what an operator has settled is kept from then on.
    Timestamp::from_micros(now.as_micros().saturating_add(2 * longest))
}

/// Reads the name of a record in three columns.
pub(super) fn name(row: &Cells) -> Result<RecordKey, Error> {
    let unread = || Error::UnknownState {
        what: "name of a record, which this build cannot read; its number",
        value: 0,
    };
    let text = |column| row.text(column).ok_or_else(unread);
    Ok(RecordKey {
        namespace: Namespace::new(text(0)?)?,
        scope: scope(text(1)?)?,
        key: text(2)?.to_owned(),
    })
}

fn scope(text: &str) -> Result<Scope, Error> {
    Ok(match text {
        "" => Scope::GLOBAL,
        scope => Scope::new(scope)?,
    })
}

/// How many columns [`columns`] selects.
pub(super) const WIDTH: usize = 15;

/// The columns that [`summary`] reads.
pub(super) fn columns(dialect: &Dialect) -> String {
    [
        dialect.text_cell("namespace"),
        dialect.text_cell("scope"),
        dialect.text_cell(dialect.key),
        dialect.text_cell("operation"),
        dialect.number_cell("status"),
        dialect.number_cell("attempt"),
        dialect.id_cell("attempt_id"),
        dialect.number_cell("on_lapse"),
        dialect.time_cell("created_at"),
        dialect.time_cell("expires_at"),
        dialect.time_cell("locked_until"),
        dialect.number_cell(&dialect.length("request")),
        dialect.number_cell(&dialect.length("result")),
        dialect.number_cell(&dialect.length("failure")),
        dialect.number_cell("codec"),
    ]
    .join(", ")
}

/// Reads a row of [`columns`].
pub(super) fn summary(row: &Cells, now: Timestamp) -> Result<RecordSummary, Error> {
    let unread = || Error::UnknownState {
        what: "column of a record, which this build cannot read; its number",
        value: 0,
    };
    let length = |column| row.number(column).and_then(|length| length.try_into().ok());
    let code = row.number(4).and_then(|code| i16::try_from(code).ok());
    Ok(RecordSummary {
        record_key: name(row)?,
        operation: row.text(3).ok_or_else(unread)?.to_owned(),
        status: StoredStatus::from_code(code.ok_or_else(unread)?),
        attempt: row.number(5).ok_or_else(unread)?,
        attempt_id: row.attempt_id(6).ok_or_else(unread)?,
        on_lapse: row.number(7).map(|code| {
            if code == i64::from(OnLapse::Retry.code()) {
                OnLapse::Retry
            } else {
                OnLapse::Unknown
            }
        }),
        created_at: row.time(8).ok_or_else(unread)?,
        expires_at: row.time(9),
        locked_until: row.time(10),
        request_bytes: length(11),
        result_bytes: length(12),
        failure_bytes: length(13),
        codec: row.number(14).unwrap_or_default(),
        read_at: now,
    })
}
