//! Deletes what has expired, now.

use std::time::Duration;

use serde_json::json;

use super::audit::{AuditedChange, Author, audit};
use super::error::OperateError;
use super::operator::{Operator, end};
use crate::stores::operate::{OperateBackend, OperateSession as _};
use crate::stores::{Purgeable, Session as _};
use crate::workers::purge::Purged;

/// The most records that one transaction deletes.
const BATCH: u32 = 1_000;

impl<DB: OperateBackend> Operator<DB> {
    /// Deletes the records whose retention has ended, in transactions of 1,000, each with its row of the audit table. With
    /// `unknown_retention`, deletes also the unknown outcomes whose lease ended longer ago than that: **a retry of one of
    /// them runs the body.** If a transaction fails, what was deleted before stays deleted.
    ///
    /// # Errors
    /// [`OperateError::AuditTable`]; any error of the database.
    pub async fn purge(
        &self,
        unknown_retention: Option<Duration>,
        author: &Author,
    ) -> Result<Purged, OperateError> {
        let mut purged = Purged::default();
        let unknown = unknown_retention.map(|retention| {
            Purgeable::Unknown(i64::try_from(retention.as_micros()).unwrap_or(i64::MAX))
        });
        for purgeable in [Some(Purgeable::Expired), unknown].into_iter().flatten() {
            loop {
                let mut pooled = self.conn().await?;
                let done = self.batch_on(&mut pooled.conn, purgeable, author).await;
                pooled.give_back(done.is_ok()).await;
                let rows = done?;
                purged.rows += rows;
                if purgeable != Purgeable::Expired {
                    purged.unknown += rows;
                }
                purged.batches += u64::from(rows > 0);
                if rows < u64::from(BATCH) {
                    break;
                }
            }
        }
        Ok(purged)
    }

    async fn batch_on(
        &self,
        conn: &mut DB::Connection,
        purgeable: Purgeable,
        author: &Author,
    ) -> Result<u64, OperateError> {
        let mut tx = conn.open_to_change().await?;
        let done = async {
            let rows = tx.purge(&self.table, purgeable, BATCH).await?;
            if rows > 0 {
                let of = match purgeable {
                    Purgeable::Expired => "expired",
                    Purgeable::Unknown(_) => "unknown",
                };
                let detail = json!({ "records": rows, "of": of }).to_string();
                let change = AuditedChange {
                    action: "purge",
                    on_table: &self.table,
                    detail: &detail,
                    ..AuditedChange::default()
                };
                audit(&mut *tx, author, &change).await?;
            }
            Ok(rows)
        };
        let done = done.await;
        end(tx, done).await
    }
}
