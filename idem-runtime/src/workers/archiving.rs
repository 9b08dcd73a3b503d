//! The options of a worker that has an archive.

use std::pin::Pin;

use super::archive::{Archive, Destination, PurgeFunction, PurgedRecord, Retirer, boxed, retire};
use super::purge::{PurgeWorker, Purged};
use crate::calls::kit::pooled_conn::PooledConn;
use crate::stores::leased::certain;
use crate::stores::operate::{OperateBackend, OperateSession as _};
use crate::values::error::Error;

impl<DB: OperateBackend> PurgeWorker<DB> {
    /// Writes a row of `idem_archive` for each record that is deleted, in the same transaction. If the row cannot be
    /// written, the record is not deleted. Its migration is [`operate::schema::archive`](crate::operate::schema::archive).
    #[must_use]
    pub fn archive(mut self, archive: Archive) -> Self {
        self.retirer = archive.retention.map(|retention| {
            let retirer: Box<Retirer<DB::Connection>> = Box::new(move |conn, table, limit| {
                Box::pin(async move {
                    let mut tx = conn.open_to_purge().await?;
                    match retire(&mut *tx, table, retention, limit).await {
                        Ok(rows) => DB::commit(tx).await.map_err(certain).map(|()| rows),
                        Err(error) => {
                            // If the ROLLBACK fails, the end of the session rolls back.
                            let _ = DB::roll_back(tx).await;
                            Err(error)
                        }
                    }
                })
            });
            retirer
        });
        self.archiver = Some(boxed::<DB>(Destination::Table(archive)));
        self
    }

    /// Calls `function` with each batch before it is deleted, and with the connection whose transaction deletes it. What it
    /// writes there is committed with the deletion, or not at all. With `payloads`, the records have their request, result
    /// and failure: choose a small [`batch`](Self::batch), because all of it is in memory.
    ///
    /// If the function returns an error, nothing of the batch is deleted, the sweep ends with [`Error::Archive`], and the
    /// next one begins with the same records. The function must not end the transaction: then the sweep ends with
    /// [`Error::TransactionEnded`], and what it has committed remains. An effect outside the database is repeated if the
    /// transaction fails after it.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # fn example(pool: sqlx::SqlitePool) {
    /// use idem_runtime::PurgeWorker;
    ///
    /// let worker = PurgeWorker::new(pool).archive_with(false, |conn, records| {
    ///     Box::pin(async move {
    ///         for record in records {
    ///             sqlx::query("INSERT INTO evidence (key, operation, hash) VALUES (?1, ?2, ?3)")
    ///                 .bind(&record.key)
    ///                 .bind(&record.operation)
    ///                 .bind(&record.payload_hash)
    ///                 .execute(&mut *conn)
    ///                 .await?;
    ///         }
    ///         Ok(())
    ///     })
    /// });
    /// # let _ = worker;
    /// # }
    /// ```
    #[must_use]
    pub fn archive_with<F>(mut self, payloads: bool, function: F) -> Self
    where
        F: for<'a> Fn(
                &'a mut DB::Connection,
                &'a [PurgedRecord],
            ) -> Pin<
                Box<
                    dyn Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>>
                        + Send
                        + 'a,
                >,
            > + Send
            + Sync
            + 'static,
    {
        let function: Box<PurgeFunction<DB::Connection>> = Box::new(function);
        self.archiver = Some(boxed::<DB>(Destination::Function { function, payloads }));
        self.retirer = None;
        self
    }
}

impl<DB: crate::stores::Backend> PurgeWorker<DB> {
    /// Deletes the archive's own rows whose retention has ended.
    pub(super) async fn retire(&self, purged: &mut Purged) -> Result<(), Error> {
        let Some(retirer) = &self.retirer else {
            return Ok(());
        };
        loop {
            let mut pooled = PooledConn::from(&self.pool).await?;
            let done = retirer(&mut pooled.conn, &self.table, self.batch).await;
            pooled.give_back(done.is_ok()).await;
            let rows = done?;
            purged.retired += rows;
            if rows < u64::from(self.batch) {
                return Ok(());
            }
            tokio::time::sleep(self.pause).await;
        }
    }
}
