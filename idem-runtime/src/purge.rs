//! Deleting expired records in the background.
//!
//! A sweep deletes in small batches, each in a transaction of its own, until nothing expired is
//! left. It stands in nobody's way: a batch skips rows that others have locked, never waits for a
//! claim, and pauses before the next. Leases are not touched, however old, nor are unknown outcomes,
//! unless [`PurgeWorker::unknown_retention`] says when.
//!
//! **On one node at a time**: on PostgreSQL a batch begins by trying a lock that is local to its
//! transaction, so that it holds through a pooler too; a node that does not get it leaves the sweep
//! to whoever has. On SQLite the write lock is that lock. On MySQL and
//! MariaDB it is a named lock of the session, on each server of a cluster.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use sqlx::Pool;

use crate::engine::lent::Lent;
use crate::error::{Error, Field, Invalid, Reason};
use crate::policy::MAX_RETENTION;
use crate::spec::{DEFAULT_TABLE, is_table};
use crate::store::{Backend, Spent};
use crate::telemetry::TARGET;

/// The time between two sweeps when none is given: 1 hour.
pub const DEFAULT_INTERVAL: Duration = Duration::from_hours(1);

/// The most rows of a batch when none is given: 1,000.
pub const DEFAULT_BATCH: u32 = 1_000;

/// The pause between two batches when none is given: 10 milliseconds.
pub const DEFAULT_PAUSE: Duration = Duration::from_millis(10);

/// What one sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Purged {
    /// The records deleted, those of unknown outcome included.
    pub rows: u64,
    /// The records of unknown outcome among them.
    pub unknown: u64,
    /// The batches that deleted any.
    pub batches: u64,
    /// Whether the sweep stopped because another node has the lead (on SQLite: because others were
    /// writing for as long as the driver waits).
    pub skipped: bool,
}

/// Purges one table on an interval, until it is cancelled.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) {
/// use std::time::Duration;
///
/// use idem_runtime::PurgeWorker;
///
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let worker = PurgeWorker::new(pool).interval(Duration::from_secs(600));
/// let purging = tokio::spawn(worker.run(stopped));
/// // … and at shutdown:
/// drop(stop);
/// purging.await.expect("the worker does not panic");
/// # }
/// ```
pub struct PurgeWorker<DB: Backend> {
    pool: Pool<DB>,
    table: Cow<'static, str>,
    interval: Duration,
    batch: u32,
    pause: Duration,
    unknown_retention: Option<Duration>,
    report: Option<Box<Report>>,
}

type Report = dyn Fn(&Result<Purged, Error>) + Send + Sync;

impl<DB: Backend> PurgeWorker<DB> {
    /// A worker for the default table.
    pub fn new(pool: Pool<DB>) -> Self {
        Self {
            pool,
            table: Cow::Borrowed(DEFAULT_TABLE),
            interval: DEFAULT_INTERVAL,
            batch: DEFAULT_BATCH,
            pause: DEFAULT_PAUSE,
            unknown_retention: None,
            report: None,
        }
    }

    /// The time from the end of a sweep to the next.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// The most rows that one transaction deletes; 0 counts as 1.
    #[must_use]
    pub fn batch(mut self, rows: u32) -> Self {
        self.batch = rows.max(1);
        self
    }

    /// The pause between two batches.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Deletes unknown outcomes too, this long after the end of their lease. By default they never leave
    /// by time: what is deleted is settled by nobody, and a retry runs the body again. Give a time after
    /// which the clients have surely given up, and
    /// [`list_unknown`](crate::store::Bound::list_unknown) has been read.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Retention`] if zero or above 3,650 days.
    pub fn unknown_retention(mut self, retention: Duration) -> Result<Self, Invalid> {
        if retention.is_zero() {
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

    /// Another table: `[schema.]name`, each `[a-z_][a-z0-9_]*` of at most 63 bytes, the name itself of at
    /// most 61.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Table`] for anything else: it is spliced into SQL text.
    pub fn table(mut self, table: &str) -> Result<Self, Invalid> {
        if !is_table(table) {
            return Err(Invalid::new(Field::Table, Reason::Identifier));
        }
        self.table = Cow::Owned(table.to_owned());
        Ok(self)
    }

    /// Is told what came of each sweep of [`run`](Self::run), for metrics. One cut short by
    /// cancellation reports what it had deleted.
    #[must_use]
    pub fn on_sweep(
        mut self,
        report: impl Fn(&Result<Purged, Error>) + Send + Sync + 'static,
    ) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    /// Sweeps at once, and then after every interval, until `cancel` is ready, whatever its output.
    ///
    /// Cancellation takes effect at once, also within a batch: that batch is rolled back. An error
    /// ends its sweep, is reported, and the next sweep begins after the interval.
    pub async fn run(self, cancel: impl Future) {
        let mut cancel = pin!(async { drop(cancel.await) });
        loop {
            let (mut purged, began) = (Purged::default(), Instant::now());
            let swept = unless(cancel.as_mut(), self.sweep(&mut purged)).await;
            let cancelled = swept.is_none();
            let result = swept.unwrap_or(Ok(())).map(|()| purged);
            self.tell(&result, purged, cancelled, began.elapsed());
            if cancelled {
                return;
            }
            let pause = tokio::time::sleep(self.interval);
            if unless(cancel.as_mut(), pause).await.is_none() {
                return;
            }
        }
    }

    /// One sweep.
    ///
    /// # Errors
    /// The database's; batches before it stay deleted. [`Error::Schema`] if there is no such table.
    pub async fn run_once(&self) -> Result<Purged, Error> {
        let mut purged = Purged::default();
        self.sweep(&mut purged).await?;
        Ok(purged)
    }

    /// Deletes batch after batch. Counts as it goes, so that a sweep dropped half-way is counted
    /// too.
    async fn sweep(&self, purged: &mut Purged) -> Result<(), Error> {
        self.delete(Spent::Expired, purged).await?;
        let Some(retention) = self.unknown_retention else {
            return Ok(());
        };
        let ago = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        self.delete(Spent::Unknown(ago), purged).await
    }

    async fn delete(&self, spent: Spent, purged: &mut Purged) -> Result<(), Error> {
        loop {
            let mut lent = Lent::from(&self.pool).await?;
            let deleted = DB::sweep(&mut lent.conn, &self.table, spent, self.batch).await;
            lent.give_back(deleted.is_ok()).await;
            let Some(rows) = deleted? else {
                purged.skipped = true;
                return Ok(());
            };
            purged.rows += rows;
            if spent != Spent::Expired {
                purged.unknown += rows;
            }
            purged.batches += u64::from(rows > 0);
            if rows < u64::from(self.batch) {
                return Ok(());
            }
            tokio::time::sleep(self.pause).await;
        }
    }

    fn tell(
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
            skipped,
        } = purged;
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let table = &*self.table;
        match result {
            Ok(_) => tracing::info!(
                target: TARGET, table, rows, unknown, batches, skipped, cancelled, elapsed_us, "purge"
            ),
            Err(error) => tracing::warn!(
                target: TARGET, table, rows, unknown, batches, elapsed_us, error = %error, "purge failed"
            ),
        }
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

/// What `work` comes to; `None`, with `work` dropped, if `cancel` is ready before.
async fn unless<T>(
    mut cancel: Pin<&mut impl Future<Output = ()>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if cancel.as_mut().poll(context).is_ready() {
            Poll::Ready(None)
        } else {
            work.as_mut().poll(context).map(Some)
        }
    })
    .await
}
