//! Deletes what has expired, now.

use std::time::Duration;

use serde_json::json;

use super::audit::{AuditedChange, Author, audit};
use super::error::OperateError;
use super::operator::{Operator, end};
use crate::stores::operate::{OperateBackend, OperateSession as _};
use crate::stores::{Purgeable, Session as _};
use crate::workers::archive::{
    Archive, Batch, Destination, archive_and_delete, archive_table_of, check_retention,
    count_retired, retire,
};
use crate::workers::purge::Purged;

/// The most records that one transaction deletes.
const BATCH: u32 = 1_000;

impl<DB: OperateBackend> Operator<DB> {
    /// Deletes the records whose retention has ended, in transactions of 1,000, each with its row of the audit table. With
    /// `unknown_retention`, deletes also the unknown outcomes whose lease ended longer ago than that: **a retry of one of
    /// them runs the body.** Records of a scope under a legal hold stay.
    ///
    /// # Errors
    /// - [`OperateError::Partly`] if a transaction failed after others were committed: what they deleted stays deleted.
    /// - [`OperateError::AuditTable`] if the audit table cannot take a row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn purge(
        &self,
        unknown_retention: Option<Duration>,
        author: &Author,
    ) -> Result<Purged, OperateError> {
        self.purge_all(unknown_retention, None, author).await
    }

    /// Does the same as [`purge`](Self::purge), and writes a row of `idem_archive` for each record, in the transaction that
    /// deletes it. The rows say the author's name. If the archive has a retention, its rows that are older are then deleted,
    /// as [`retire_archive`](Self::retire_archive) does.
    ///
    /// # Errors
    /// - Those of [`purge`](Self::purge).
    /// - [`Error::Archive`](crate::Error::Archive) if the archive takes fewer rows than it was sent.
    pub async fn purge_into(
        &self,
        archive: Archive,
        unknown_retention: Option<Duration>,
        author: &Author,
    ) -> Result<Purged, OperateError> {
        let retention = archive.retention;
        let archive = archive.actor(author.actor.as_str())?;
        let destination = Destination::Table(archive);
        let mut purged = self
            .purge_all(unknown_retention, Some(&destination), author)
            .await?;
        if let Some(retention) = retention {
            let retired = self.retire_archive(retention, author).await;
            purged.retired = retired.map_err(|error| error.after(purged.rows))?;
        }
        Ok(purged)
    }

    /// Deletes the rows of the archive that were written longer ago than `retention`, in transactions of 1,000, each with its
    /// row of the audit table. Rows of a scope under a legal hold stay. Returns the number of rows.
    ///
    /// # Errors
    /// - [`OperateError::Partly`] if a transaction failed after others were committed.
    /// - [`Invalid`](crate::error::Invalid) if the time is shorter than 1 microsecond or longer than 36,500 days.
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn retire_archive(
        &self,
        retention: Duration,
        author: &Author,
    ) -> Result<u64, OperateError> {
        check_retention(retention)?;
        let mut retired = 0;
        loop {
            let mut pooled = self.conn().await?;
            let done = self.retire_on(&mut pooled.conn, retention, author).await;
            pooled.give_back(done.is_ok()).await;
            let rows = done.map_err(|error| error.after(retired))?;
            retired += rows;
            if rows < u64::from(BATCH) {
                return Ok(retired);
            }
        }
    }

    /// Counts the rows of the archive that [`retire_archive`](Self::retire_archive) would delete. Reads the whole archive.
    ///
    /// # Errors
    /// - [`Invalid`](crate::error::Invalid) if the time is shorter than 1 microsecond or longer than 36,500 days.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn count_retired(&self, retention: Duration) -> Result<u64, OperateError> {
        check_retention(retention)?;
        let mut pooled = self.conn().await?;
        let done = count_retired(&mut *pooled.conn, &self.table, retention).await;
        pooled.give_back(done.is_ok()).await;
        Ok(done?)
    }

    async fn purge_all(
        &self,
        unknown_retention: Option<Duration>,
        destination: Option<&Destination<DB::Connection>>,
        author: &Author,
    ) -> Result<Purged, OperateError> {
        let mut purged = Purged::default();
        let unknown = unknown_retention.map(|retention| {
            Purgeable::Unknown(i64::try_from(retention.as_micros()).unwrap_or(i64::MAX))
        });
        for purgeable in [Some(Purgeable::Expired), unknown].into_iter().flatten() {
            loop {
                let acquired = self.conn().await;
                let mut pooled =
                    acquired.map_err(|error| OperateError::from(error).after(purged.rows))?;
                let done = self
                    .batch_on(&mut pooled.conn, purgeable, destination, author)
                    .await;
                pooled.give_back(done.is_ok()).await;
                let rows = done.map_err(|error| error.after(purged.rows))?;
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
        destination: Option<&Destination<DB::Connection>>,
        author: &Author,
    ) -> Result<u64, OperateError> {
        let mut tx = conn.open_to_purge().await?;
        let done = async {
            let (table, limit) = (&*self.table, BATCH);
            let batch = Batch {
                table,
                purgeable,
                limit,
            };
            let rows = match destination {
                Some(destination) => archive_and_delete(&mut *tx, batch, destination).await?,
                None => tx.purge(table, purgeable, limit).await?,
            };
            if rows > 0 {
                let of = match purgeable {
                    Purgeable::Expired => "expired",
                    Purgeable::Unknown(_) => "unknown",
                };
                let archived = destination.is_some();
                let detail = json!({ "records": rows, "of": of, "archived": archived }).to_string();
                self.record_batch(&mut tx, table, &detail, author).await?;
            }
            Ok(rows)
        };
        let done = done.await;
        end(tx, done).await
    }

    async fn retire_on(
        &self,
        conn: &mut DB::Connection,
        retention: Duration,
        author: &Author,
    ) -> Result<u64, OperateError> {
        let mut tx = conn.open_to_purge().await?;
        let done = async {
            let rows = retire(&mut *tx, &self.table, retention, BATCH).await?;
            if rows > 0 {
                let archive = archive_table_of(&self.table);
                let detail = json!({ "rows": rows, "of": "archive" }).to_string();
                self.record_batch(&mut tx, &archive, &detail, author)
                    .await?;
            }
            Ok(rows)
        };
        let done = done.await;
        end(tx, done).await
    }

    /// Writes the row of the audit table for a batch.
    async fn record_batch(
        &self,
        conn: &mut DB::Connection,
        table: &str,
        detail: &str,
        author: &Author,
    ) -> Result<(), OperateError> {
        let change = AuditedChange {
            action: "purge",
            on_table: table,
            detail,
            ..AuditedChange::default()
        };
        audit(conn, author, &change).await
    }
}
