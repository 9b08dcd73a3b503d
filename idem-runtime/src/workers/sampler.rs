//! Looks at the table from time to time, for the gauges that no call can know.

use std::borrow::Cow;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use sqlx::Pool;
use tokio::time::timeout;

use super::unless;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::calls::telemetry::TARGET;
use crate::calls::telemetry::metrics::{
    PURGE_OVERDUE, SAMPLER_SAMPLES, UNKNOWN_OVERDUE, gauge, increment,
};
use crate::stores::{Backend, TableSample};
use crate::values::error::{Error, Field, Invalid, Reason};
use crate::values::spec::{DEFAULT_TABLE, is_table};

/// The default time between two samples: 30 seconds.
const DEFAULT_SAMPLE_INTERVAL: Duration = Duration::from_secs(30);

/// The time after which an unknown outcome is counted by `idempotency.unknown_outcome.overdue`: 15 minutes.
const UNKNOWN_FOR: Duration = Duration::from_mins(15);

/// A sample that takes longer counts as failed, and its connection is closed: 10 seconds.
const SAMPLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Sets the gauges of one table at an interval, until it is cancelled: how many outcomes are unknown for more than 15
/// minutes, and how far the purge is behind. One process is enough: all see the same table.
///
/// A sample is one query. It reads by the indexes on times, at most 1,000 lapsed leases and unknown outcomes, and the
/// record that expired first: a count of 1,000 means 1,000 or more. If a sample fails, the gauges keep their values,
/// and `idempotency.sampler.samples` counts it as `failed`.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) {
/// use idem_runtime::MetricsSampler;
///
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let sampling = tokio::spawn(MetricsSampler::new(pool).run(stopped));
/// // … and at shutdown:
/// drop(stop);
/// sampling.await.expect("the sampler does not panic");
/// # }
/// ```
#[must_use = "a sampler samples when it is run"]
pub struct MetricsSampler<DB: Backend> {
    pool: Pool<DB>,
    table: Cow<'static, str>,
    interval: Duration,
}

impl<DB: Backend> MetricsSampler<DB> {
    /// Creates a sampler of the default table.
    pub fn new(pool: Pool<DB>) -> Self {
        Self {
            pool,
            table: Cow::Borrowed(DEFAULT_TABLE),
            interval: DEFAULT_SAMPLE_INTERVAL,
        }
    }

    /// Sets the time from the end of a sample to the next.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets another table; see [`PurgeWorker::table`](crate::PurgeWorker::table).
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Table`] if the text is no such identifier.
    pub fn table(mut self, table: &str) -> Result<Self, Invalid> {
        if !is_table(table) {
            return Err(Invalid::new(Field::Table, Reason::Identifier));
        }
        self.table = Cow::Owned(table.to_owned());
        Ok(self)
    }

    /// Samples at once and then after every interval, until the future `cancel` is ready. Its output is ignored.
    pub async fn run(self, cancel: impl Future) {
        let mut cancel = pin!(async { drop(cancel.await) });
        loop {
            let Some(sampled) = unless(cancel.as_mut(), self.sample()).await else {
                return;
            };
            if let Err(error) = sampled {
                let table = &*self.table;
                tracing::warn!(target: TARGET, table, error = %error, "sample failed");
            }
            let pause = tokio::time::sleep(self.interval);
            if unless(cancel.as_mut(), pause).await.is_none() {
                return;
            }
        }
    }

    /// Sets the gauges once.
    ///
    /// # Errors
    /// - [`Error::Schema`] if the table does not exist.
    /// - Any error of the database. The gauges keep their values.
    pub async fn sample(&self) -> Result<(), Error> {
        let looked = timeout(SAMPLE_TIMEOUT, self.look()).await;
        let looked = looked.unwrap_or(Err(Error::Unavailable(sqlx::Error::PoolTimedOut.into())));
        let outcome = if looked.is_ok() { "taken" } else { "failed" };
        increment(SAMPLER_SAMPLES, ("outcome", outcome), 1);
        let TableSample { unknown, overdue } = looked?;
        // At most the bound of a sample.
        gauge(
            UNKNOWN_OVERDUE,
            f64::from(u32::try_from(unknown).unwrap_or(u32::MAX)),
        );
        gauge(
            PURGE_OVERDUE,
            Duration::from_micros(overdue.unsigned_abs()).as_secs_f64(),
        );
        Ok(())
    }

    async fn look(&self) -> Result<TableSample, Error> {
        let mut pooled = PooledConn::from(&self.pool).await?;
        let unknown_for = i64::try_from(UNKNOWN_FOR.as_micros()).unwrap_or(i64::MAX);
        let sample = DB::sample(&mut pooled.conn, &self.table, unknown_for).await;
        pooled.give_back(sample.is_ok()).await;
        sample
    }
}

impl<DB: Backend> fmt::Debug for MetricsSampler<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsSampler")
            .field("table", &self.table)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}
