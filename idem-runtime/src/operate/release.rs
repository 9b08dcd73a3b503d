//! Frees a key whose attempt does not come back.

use serde_json::json;

use super::audit::Author;
use super::error::OperateError;
use super::operator::{Operator, end};
use super::read::RecordSummary;
use super::resolve::{kept, live};
use super::status::StoredStatus;
use crate::decision::Change;
use crate::stores::lease::Write;
use crate::stores::operate::{OperateBackend, OperateSession};
use crate::values::policy::OnLapse;
use crate::values::record::{AttemptId, Status};

/// How a key was freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// The record stays, released: the next caller with the same request runs the body.
    Record,
    /// The claim without a record was deleted: the key counts as unused.
    Deleted,
}

impl<DB: OperateBackend> Operator<DB> {
    /// Frees a key, as its record was read: **the next caller runs the body.** Only a lease that has lapsed, an unknown
    /// outcome, and (on MySQL and MariaDB) a claim that a body has committed without a record can be freed. If the attempt
    /// comes back afterwards, its lease is lost.
    ///
    /// # Errors
    /// - [`OperateError::Live`] if the lease has not lapsed.
    /// - [`OperateError::WrongStatus`] if the record is of another status.
    /// - [`OperateError::Changed`] if the record has changed since it was read: its attempt came back in the meantime.
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn release(
        &self,
        record: &RecordSummary,
        author: &Author,
    ) -> Result<Released, OperateError> {
        let freed = |change| Write {
            becomes: AttemptId::random(),
            ..Write::own(change, record.attempt_id, kept(None))
        };
        let settled = freed(Change::Settle(Status::Released));
        let writes = match record.status {
            StoredStatus::CLAIMED => return self.delete_claim(record, author).await,
            StoredStatus::UNKNOWN => vec![settled],
            StoredStatus::IN_PROGRESS if !record.is_lapsed() => return Err(live(record)),
            StoredStatus::IN_PROGRESS if record.on_lapse == Some(OnLapse::Retry) => {
                vec![freed(Change::LapseReleased)]
            }
            StoredStatus::IN_PROGRESS => {
                vec![Write::own(Change::Lapse, record.attempt_id, 0), settled]
            }
            status => {
                return Err(OperateError::WrongStatus {
                    status,
                    allowed: "only a lapsed lease, an unknown outcome, and a claim without a record can be released",
                });
            }
        };
        self.write(record, "release", &writes, author).await?;
        Ok(Released::Record)
    }

    async fn delete_claim(
        &self,
        record: &RecordSummary,
        author: &Author,
    ) -> Result<Released, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.delete_claim_on(&mut pooled.conn, record, author).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn delete_claim_on(
        &self,
        conn: &mut DB::Connection,
        record: &RecordSummary,
        author: &Author,
    ) -> Result<Released, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "DELETE FROM {} WHERE {} AND status = {} AND {} = '{}'",
            self.full_table(),
            record.record_key.condition(&dialect),
            StoredStatus::CLAIMED.code(),
            dialect.id_cell("attempt_id"),
            dialect.id_of(record.attempt_id),
        );
        let mut tx = conn.open_to_change().await?;
        let done = async {
            if tx.change(statement, &self.table).await? != 1 {
                return Err(OperateError::Changed);
            }
            let detail = json!({ "from": record.status.to_string(), "to": null });
            self.record_change(&mut *tx, record, "release", &detail.to_string(), author)
                .await?;
            Ok(Released::Deleted)
        };
        let done = done.await;
        end(tx, done).await
    }
}
