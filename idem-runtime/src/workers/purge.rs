//! Deletes expired records in the background.
//!
//! A sweep deletes in small batches, each in its own transaction, until no expired record is left.
//! It does not delay claims: a batch skips rows that are locked, and the sweep pauses between
//! batches. Leases are never deleted. Unknown outcomes are deleted only if
//! [`PurgeWorker::unknown_retention`] is set.
//!
//! **Legal holds**: where the migration of holds has run, records of a scope under a hold are left, and a hold that is
//! placed waits for the batch that is running.
//!
//! **The archive** (feature `operate`): with [`PurgeWorker::archive`] or [`PurgeWorker::archive_with`] each batch is handed
//! over in the transaction that deletes it.
//!
//! **On one node at a time**: a batch starts by trying to get a lock, and a node that does not get
//! it ends its sweep. On PostgreSQL this is an advisory lock of the transaction, which also works
//! behind a transaction-mode pooler. On SQLite it is the write lock of the database. On MySQL and
//! MariaDB it is a named lock of the session (`GET_LOCK`), which excludes only nodes that are
//! connected to the same server of a cluster.

use std::borrow::Cow;
use std::fmt;
use std::pin::pin;
use std::time::{Duration, Instant};

use sqlx::Pool;

#[cfg(feature = "operate")]
pub use super::archive::{ARCHIVE_TABLE, Archive, PurgedRecord, archive_table_of};
#[cfg(feature = "operate")]
use super::archive::{Archiver, Batch, Retirer};
use super::unless;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::calls::telemetry::TARGET;
#[cfg(feature = "metrics")]
use crate::calls::telemetry::metrics::{PURGE_DELETED, PURGE_SWEEPS, increment};
use crate::stores::{Backend, Purgeable};
use crate::values::error::{Error, Field, Invalid, Reason};
use crate::values::policy::MAX_RETENTION;
use crate::values::spec::{DEFAULT_TABLE, is_table};

/// The default time between two sweeps: 1 hour.
pub const DEFAULT_INTERVAL: Duration = Duration::from_hours(1);

/// The default maximum of rows in a batch: 1,000.
pub const DEFAULT_BATCH: u32 = 1_000;

/// The default pause between two batches: 10 milliseconds.
pub const DEFAULT_PAUSE: Duration = Duration::from_millis(10);

/// The result of one sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Purged {
    /// The number of deleted records, including those of unknown outcome.
    pub rows: u64,
    /// The number of deleted records of unknown outcome.
    pub unknown: u64,
    /// The number of batches that deleted at least one record.
    pub batches: u64,
    /// The number of rows of the archive that were deleted past the archive's own retention.
    pub retired: u64,
    /// Whether the sweep ended because another node holds the lock. On SQLite: because other
    /// connections held the write lock for longer than the driver's busy timeout.
    pub skipped: bool,
}

/// Purges one table at an interval, until it is cancelled.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
///
/// use idem_runtime::{PurgeWorker, schema};
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// # schema::create_if_missing(&mut pool.acquire().await?).await?;
///
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let worker = PurgeWorker::new(pool.clone()).interval(Duration::from_secs(600));
/// let purging = tokio::spawn(worker.run(stopped)); // or until SIGTERM, or Ctrl-C
/// // … and at shutdown:
/// drop(stop);
/// purging.await?;
///
/// // Without a loop, for a scheduler of your own:
/// let purged = PurgeWorker::new(pool).run_once().await?;
/// assert_eq!(purged.rows, 0);
/// # Ok(()) }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
pub struct PurgeWorker<DB: Backend> {
    pub(super) pool: Pool<DB>,
    pub(super) table: Cow<'static, str>,
    interval: Duration,
    pub(super) batch: u32,
    pub(super) pause: Duration,
    unknown_retention: Option<Duration>,
    report: Option<Box<Report>>,
    #[cfg(feature = "operate")]
    pub(super) archiver: Option<Box<Archiver<DB::Connection>>>,
    #[cfg(feature = "operate")]
    pub(super) retirer: Option<Box<Retirer<DB::Connection>>>,
}

type Report = dyn Fn(&Result<Purged, Error>) + Send + Sync;

impl<DB: Backend> PurgeWorker<DB> {
    /// Creates a worker for the default table.
    pub fn new(pool: Pool<DB>) -> Self {
        Self {
            pool,
            table: Cow::Borrowed(DEFAULT_TABLE),
            interval: DEFAULT_INTERVAL,
            batch: DEFAULT_BATCH,
            pause: DEFAULT_PAUSE,
            unknown_retention: None,
            report: None,
            #[cfg(feature = "operate")]
            archiver: None,
            #[cfg(feature = "operate")]
            retirer: None,
        }
    }

    /// Sets the time from the end of a sweep to the next.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the maximum number of rows that one transaction deletes; 0 counts as 1.
    #[must_use]
    pub fn batch(mut self, rows: u32) -> Self {
        self.batch = rows.max(1);
        self
    }

    /// Sets the pause between two batches.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Deletes unknown outcomes as well, this long after the end of their lease. By default they
    /// are kept: a deleted outcome cannot be settled any more, and a retry runs the body again.
    /// Choose a time after which no client retries and the outcomes of
    /// [`list_unknown`](crate::stores::Bound::list_unknown) have been settled.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Retention`] if the time is shorter than 1 microsecond or longer than 3,650 days.
    pub fn unknown_retention(mut self, retention: Duration) -> Result<Self, Invalid> {
        if retention.as_micros() == 0 {
            return Err(Invalid::new(Field::Retention, Reason::Empty));
        }
        if retention > MAX_RETENTION {
            return Err(Invalid::new(
                Field::Retention,
                Reason::TooLongTime {
                    limit: MAX_RETENTION,
                    found: retention,
                },
            ));
        }
        self.unknown_retention = Some(retention);
        Ok(self)
    }

    /// Sets another table: `[schema.]name`, each `[a-z_][a-z0-9_]*`, the schema of at most 63 bytes
    /// and the name of at most 61.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Table`] if the text is no such identifier, because it is spliced
    /// into SQL text.
    pub fn table(mut self, table: &str) -> Result<Self, Invalid> {
        if !is_table(table) {
            return Err(Invalid::new(Field::Table, Reason::Identifier));
        }
        self.table = Cow::Owned(table.to_owned());
        Ok(self)
    }

    /// Calls `report` with the result of each sweep of [`run`](Self::run), for metrics. A cancelled
    /// sweep reports what it had deleted.
    #[must_use]
    pub fn on_sweep(
        mut self,
        report: impl Fn(&Result<Purged, Error>) + Send + Sync + 'static,
    ) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    /// Sweeps at once and then after every interval, until the future `cancel` is ready. Its output
    /// is ignored.
    ///
    /// Cancellation takes effect at once. A batch that is running is rolled back. If a sweep fails,
    /// its error is reported and the next sweep starts after the interval.
    pub async fn run(self, cancel: impl Future) {
        let mut cancel = pin!(async { drop(cancel.await) });
        loop {
            let (mut purged, began) = (Purged::default(), Instant::now());
            let swept = unless(cancel.as_mut(), self.sweep(&mut purged)).await;
            let cancelled = swept.is_none();
            let result = swept.unwrap_or(Ok(())).map(|()| purged);
            self.emit(&result, purged, cancelled, began.elapsed());
            if cancelled {
                return;
            }
            let pause = tokio::time::sleep(self.interval);
            if unless(cancel.as_mut(), pause).await.is_none() {
                return;
            }
        }
    }

    /// Runs one sweep.
    ///
    /// # Errors
    /// - [`Error::Schema`] if the table does not exist.
    /// - Any error of the database. The batches committed before it stay deleted.
    pub async fn run_once(&self) -> Result<Purged, Error> {
        let mut purged = Purged::default();
        self.sweep(&mut purged).await?;
        Ok(purged)
    }

    /// Runs the batches of one sweep. Adds each batch to `purged` at once, so that the count is
    /// right if the future is dropped.
    async fn sweep(&self, purged: &mut Purged) -> Result<(), Error> {
        self.delete(Purgeable::Expired, purged).await?;
        if let Some(retention) = self.unknown_retention {
            let ago = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
            self.delete(Purgeable::Unknown(ago), purged).await?;
        }
        #[cfg(feature = "operate")]
        self.retire(purged).await?;
        Ok(())
    }

    /// Deletes one batch, and hands it over before if there is an archive.
    async fn batch_on(
        &self,
        conn: &mut DB::Connection,
        purgeable: Purgeable,
    ) -> Result<Option<u64>, Error> {
        #[cfg(feature = "operate")]
        if let Some(archiver) = &self.archiver {
            let (table, limit) = (&*self.table, self.batch);
            let batch = Batch {
                table,
                purgeable,
                limit,
            };
            return archiver(conn, batch).await;
        }
        DB::sweep(conn, &self.table, purgeable, self.batch).await
    }

    async fn delete(&self, purgeable: Purgeable, purged: &mut Purged) -> Result<(), Error> {
        loop {
            let mut pooled = PooledConn::from(&self.pool).await?;
            let deleted = self.batch_on(&mut pooled.conn, purgeable).await;
            pooled.give_back(deleted.is_ok()).await;
            let Some(rows) = deleted? else {
                purged.skipped = true;
                return Ok(());
            };
            purged.rows += rows;
            if purgeable != Purgeable::Expired {
                purged.unknown += rows;
            }
            purged.batches += u64::from(rows > 0);
            if rows < u64::from(self.batch) {
                return Ok(());
            }
            tokio::time::sleep(self.pause).await;
        }
    }

    #[cfg(feature = "metrics")]
    fn count(result: &Result<Purged, Error>, purged: Purged, cancelled: bool) {
        let outcome = match result {
            Ok(_) if cancelled => "cancelled",
            Ok(purged) if purged.skipped => "skipped",
            Ok(_) => "completed",
            Err(_) => "failed",
        };
        increment(PURGE_SWEEPS, ("outcome", outcome), 1);
        let expired = purged.rows - purged.unknown;
        increment(PURGE_DELETED, ("kind", "expired"), expired);
        increment(PURGE_DELETED, ("kind", "unknown"), purged.unknown);
    }

    fn emit(
        &self,
        result: &Result<Purged, Error>,
        purged: Purged,
        cancelled: bool,
        elapsed: Duration,
    ) {
        let Purged {
            rows,
            unknown,
            batches,
            retired,
            skipped,
        } = purged;
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let table = &*self.table;
        match result {
            Ok(_) => tracing::info!(
                target: TARGET, table, rows, unknown, batches, retired, skipped, cancelled, elapsed_us, "purge"
            ),
            Err(error) => tracing::warn!(
                target: TARGET, table, rows, unknown, batches, elapsed_us, error = %error, "purge failed"
            ),
        }
        #[cfg(feature = "metrics")]
        Self::count(result, purged, cancelled);
        if let Some(report) = &self.report {
            report(result);
        }
    }
}

impl<DB: Backend> fmt::Debug for PurgeWorker<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PurgeWorker")
            .field("table", &self.table)
            .field("interval", &self.interval)
            .field("batch", &self.batch)
            .field("pause", &self.pause)
            .field("unknown_retention", &self.unknown_retention)
            .finish_non_exhaustive()
    }
}
