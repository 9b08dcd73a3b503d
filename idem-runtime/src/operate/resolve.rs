//! Settles an outcome that nobody knows.

use std::num::NonZeroU16;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::json;

use super::audit::{AuditedChange, Author, audit};
use super::error::OperateError;
use super::operator::{Operator, end};
use super::read::RecordSummary;
use super::status::StoredStatus;
use crate::decision::Change;
use crate::stores::ClaimRequest;
use crate::stores::lease::{LeaseStatements as _, Write};
use crate::stores::operate::{OperateBackend, OperateSession as _};
use crate::values::failure::StoredFailure;
use crate::values::payload::versioned::with_version;
use crate::values::policy::{DEFAULT_RESULT_LIMIT, DEFAULT_RETENTION, OnLapse};
use crate::values::record::{AttemptId, CODEC_JSON, Status};

/// What became of an effect. `Debug` shows no payload.
#[derive(Clone)]
#[non_exhaustive]
pub enum Resolution {
    /// It happened: every retry replays this JSON, which must decode as the handler's result. At most 1 MiB.
    Completed(Vec<u8>),
    /// It failed for good: every retry replays this failure.
    Failed(StoredFailure),
    /// It never happened: the next caller runs the body.
    NeverHappened,
    /// What became of it, in this version of the handler's result or failure. Without a version it is version 1.
    OfVersion(NonZeroU16, Box<Self>),
}

impl std::fmt::Debug for Resolution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Completed(_) => "Completed",
            Self::Failed(_) => "Failed",
            Self::NeverHappened => "NeverHappened",
            Self::OfVersion(_, resolution) => return resolution.fmt(f),
        })
    }
}

impl Resolution {
    /// Says which version of the handler's result or failure this is: its `result_version`, or the `version` in
    /// `#[failure(..)]`.
    #[must_use]
    pub fn of_version(self, version: NonZeroU16) -> Self {
        Self::OfVersion(version, Box::new(self))
    }

    fn status(&self) -> Status {
        match self {
            Self::Completed(_) => Status::Completed,
            Self::Failed(_) => Status::Failed,
            Self::NeverHappened => Status::Released,
            Self::OfVersion(_, resolution) => resolution.status(),
        }
    }

    /// The result and the failure that are recorded, at most one of them.
    fn payload(&self) -> Result<Payload, OperateError> {
        let (result, failure) = match self {
            Self::Completed(json) => {
                serde_json::from_slice::<IgnoredAny>(json)
                    .map_err(|error| OperateError::not_json("result", &error))?;
                (Some(json.trim_ascii().to_vec()), None)
            }
            Self::Failed(failure) => {
                let json = serde_json::to_vec(failure)
                    .map_err(|error| OperateError::not_json("failure", &error))?;
                (None, Some(json))
            }
            Self::NeverHappened => (None, None),
            Self::OfVersion(version, resolution) => {
                let Payload { result, failure } = resolution.payload()?;
                let marked =
                    |json: Option<Vec<u8>>| json.map(|json| with_version(version.get(), json));
                return Ok(Payload {
                    result: marked(result),
                    failure: marked(failure),
                });
            }
        };
        let length = result.as_ref().or(failure.as_ref()).map_or(0, Vec::len);
        if length > DEFAULT_RESULT_LIMIT {
            let what = if result.is_some() {
                "result"
            } else {
                "failure"
            };
            return Err(OperateError::TooLarge {
                what,
                length,
                limit: DEFAULT_RESULT_LIMIT,
            });
        }
        Ok(Payload { result, failure })
    }
}

/// What is recorded beside the status.
struct Payload {
    result: Option<Vec<u8>>,
    failure: Option<Vec<u8>>,
}

/// How long a record is kept after an operator has settled it.
pub(super) fn kept(retention: Option<Duration>) -> i64 {
    let retention = retention.unwrap_or(DEFAULT_RETENTION);
    i64::try_from(retention.as_micros()).unwrap_or(i64::MAX)
}

impl<DB: OperateBackend> Operator<DB> {
    /// Records what became of an effect of unknown outcome, as the record was read. It is kept for 24 hours from now; see
    /// [`resolve_for`](Self::resolve_for).
    ///
    /// A lease under `on_lapse = "unknown"` that has lapsed is of unknown outcome too, whether or not a caller has met it
    /// since.
    ///
    /// # Errors
    /// - [`OperateError::WrongStatus`] if the outcome was not unknown.
    /// - [`OperateError::Live`] if the lease has not lapsed.
    /// - [`OperateError::Changed`] if the record has changed since it was read: resolved by somebody else, or completed by
    ///   its attempt.
    /// - [`OperateError::Protected`] for a result or a failure of an operation that has a codec.
    /// - [`OperateError::NotJson`], [`OperateError::TooLarge`], [`OperateError::AuditTable`].
    /// - [`OperateError::Library`]: its variant lists what the database may refuse. After [`Error::CommitUnknown`](crate::Error::CommitUnknown) look at the record again.
    pub async fn resolve(
        &self,
        record: &RecordSummary,
        resolution: &Resolution,
        author: &Author,
    ) -> Result<(), OperateError> {
        self.resolve_for(record, resolution, author, DEFAULT_RETENTION)
            .await
    }

    /// Does the same as [`resolve`](Self::resolve), and keeps the record for this long.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve).
    pub async fn resolve_for(
        &self,
        record: &RecordSummary,
        resolution: &Resolution,
        author: &Author,
        retention: Duration,
    ) -> Result<(), OperateError> {
        let lapses = check(record)?;
        let payload = resolution.payload()?;
        let has_payload = payload.result.is_some() || payload.failure.is_some();
        if has_payload && record.codec != i64::from(CODEC_JSON) {
            return Err(OperateError::Protected);
        }
        let write = Write {
            becomes: AttemptId::random(),
            result: payload.result.as_deref(),
            failure: payload.failure.as_deref(),
            ..Write::own(
                Change::Settle(resolution.status()),
                record.attempt_id,
                kept(Some(retention)),
            )
        };
        let lapse = lapses.then(|| Write::own(Change::Lapse, record.attempt_id, 0));
        let writes: Vec<_> = lapse.into_iter().chain([write]).collect();
        self.write(record, "resolve", &writes, author).await
    }

    /// Makes these changes of a record one after another, with one row of the audit table.
    pub(super) async fn write(
        &self,
        record: &RecordSummary,
        action: &'static str,
        writes: &[Write<'_>],
        author: &Author,
    ) -> Result<(), OperateError> {
        let mut pooled = self.conn().await?;
        let done = self
            .write_on(&mut pooled.conn, record, action, writes, author)
            .await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn write_on(
        &self,
        conn: &mut DB::Connection,
        record: &RecordSummary,
        action: &'static str,
        writes: &[Write<'_>],
        author: &Author,
    ) -> Result<(), OperateError> {
        let request = ClaimRequest::new(self.table.clone(), record.record_key.identity()?);
        let mut tx = conn.open_to_change().await?;
        let done = async {
            let mut to = record.status;
            for write in writes {
                if !tx.update_row(&request, write).await? {
                    return Err(OperateError::Changed);
                }
                to = StoredStatus::from_code(write.change.to().code());
            }
            let detail = json!({
                "operation": record.operation,
                "attempt": record.attempt,
                "from": record.status.to_string(),
                "to": to.to_string(),
            });
            self.record_change(&mut *tx, record, action, &detail.to_string(), author)
                .await
        };
        let done = done.await;
        end(tx, done).await
    }

    /// Writes the row of the audit table for a change of one record.
    pub(super) async fn record_change(
        &self,
        conn: &mut DB::Connection,
        record: &RecordSummary,
        action: &'static str,
        detail: &str,
        author: &Author,
    ) -> Result<(), OperateError> {
        let change = AuditedChange {
            action,
            on_table: &self.table,
            namespace: Some(record.record_key.namespace()),
            scope: Some(record.record_key.scope()),
            key: Some(record.record_key.key()),
            event_id: None,
            detail,
        };
        audit(conn, author, &change).await
    }
}

/// Returns whether the record is a lapsed lease, which becomes unknown first.
fn check(record: &RecordSummary) -> Result<bool, OperateError> {
    let wrong = |allowed| {
        Err(OperateError::WrongStatus {
            status: record.status,
            allowed,
        })
    };
    match record.status {
        StoredStatus::UNKNOWN => Ok(false),
        StoredStatus::IN_PROGRESS if !record.is_lapsed() => Err(live(record)),
        StoredStatus::IN_PROGRESS if record.on_lapse == Some(OnLapse::Retry) => wrong(
            "its operation may run again after a lapse: the next caller runs it, or release it (`idem release`)",
        ),
        StoredStatus::IN_PROGRESS => Ok(true),
        _ => wrong("only an unknown outcome can be resolved"),
    }
}

/// The refusal of a lease that has not lapsed.
pub(super) fn live(record: &RecordSummary) -> OperateError {
    let left = record.locked_until.map(|until| until.since(record.read_at));
    OperateError::Live {
        left: left.unwrap_or_default(),
    }
}
