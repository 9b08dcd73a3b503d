//! Looks at the outbox from time to time, for the gauges that no relay can know.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use sqlx::Pool;
use tokio::time::{sleep, timeout};

use super::append::Outbox;
use super::connection::OutboxConnection;
use super::error::OutboxError;
use super::store::{OutboxDatabase, OutboxSample};
use crate::metrics::{
    OUTBOX_DEAD, OUTBOX_OLDEST_AGE, OUTBOX_PENDING, OUTBOX_SAMPLES, gauge, increment,
};

/// A sample that takes longer counts as failed, and its connection is closed: 10 seconds.
const SAMPLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Sets the gauges of one outbox at an interval, until it is cancelled: how many events have not left, how old the
/// oldest of them is, and how many are dead. One process is enough: all see the same table.
///
/// A sample is one query, by the indexes. It counts at most 10,000 events of each kind, and looks for the oldest among
/// the 1,000 that are due first. The age of an event that was appended for a later time counts from that time. If a
/// sample fails, the gauges keep their values, and `outbox.sampler.samples` counts it as `failed`.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) {
/// use idem_messaging::outbox::{Outbox, OutboxSampler};
///
/// let outbox = Outbox::new();
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let sampling = tokio::spawn(OutboxSampler::new(pool, &outbox).run(stopped));
/// // … and at shutdown:
/// drop(stop);
/// sampling.await.expect("the sampler does not panic");
/// # }
/// ```
#[must_use = "a sampler samples when it is run"]
pub struct OutboxSampler<DB: OutboxDatabase> {
    pool: Pool<DB>,
    outbox: Outbox,
    interval: Duration,
}

impl<DB: OutboxDatabase> OutboxSampler<DB> {
    /// Creates a sampler of `outbox`.
    pub fn new(pool: Pool<DB>, outbox: &Outbox) -> Self {
        Self {
            pool,
            outbox: outbox.clone(),
            interval: Duration::from_secs(30),
        }
    }

    /// Sets the time from the end of a sample to the next. The default is 30 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Samples at once and then after every interval, until the future `cancel` is ready. Its output is ignored.
    pub async fn run(self, cancel: impl Future) {
        let mut cancel = pin!(async { drop(cancel.await) });
        loop {
            let sampled = async {
                if let Err(error) = self.sample().await {
                    let table = &*self.outbox.table;
                    tracing::warn!(target: "idem", table, error = %error, "sample failed");
                }
                sleep(self.interval).await;
            };
            tokio::select! {
                biased;
                () = &mut cancel => return,
                () = sampled => {}
            }
        }
    }

    /// Sets the gauges once.
    ///
    /// # Errors
    /// Any error of the database. The gauges keep their values.
    pub async fn sample(&self) -> Result<(), OutboxError> {
        let looked = timeout(SAMPLE_TIMEOUT, self.look()).await;
        let looked = looked.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let outcome = if looked.is_ok() { "taken" } else { "failed" };
        increment(OUTBOX_SAMPLES, &[("outcome", outcome)]);
        let sample = looked?;
        gauge(OUTBOX_PENDING, whole(sample.pending));
        gauge(OUTBOX_DEAD, whole(sample.dead));
        let age = Duration::from_micros(sample.oldest.max(0).unsigned_abs());
        gauge(OUTBOX_OLDEST_AGE, age.as_secs_f64());
        Ok(())
    }

    async fn look(&self) -> Result<OutboxSample, sqlx::Error> {
        let mut conn = OutboxConnection::from_pool(&self.pool).await?;
        let sample = DB::sample(conn.get(), &self.outbox.table).await?;
        conn.finish();
        Ok(sample)
    }
}

/// A number of at most 10,000 as a gauge's.
fn whole(number: i64) -> f64 {
    f64::from(i32::try_from(number).unwrap_or(i32::MAX))
}

impl<DB: OutboxDatabase> fmt::Debug for OutboxSampler<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxSampler")
            .field("outbox", &self.outbox)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}
