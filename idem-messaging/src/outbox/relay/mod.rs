//! The relay: claims events, publishes them, and marks them.
//!
//! One turn of its worker:
//!
//! ```text
//! claim (a transaction) ──> publish (none is open) ──> settle (a transaction, under the claim's token)
//! ```
//!
//! - **A process that dies** between any two of them leaves a lease that ends; another claim publishes the event again.
//! - **A process that sleeps** past its lease begins no further publication of that claim, and what it settles late is
//!   fenced off by its token. What it was publishing may arrive after later events of the partition: as a repetition of
//!   an event that was published before.
//! - **A settlement whose answer is lost** is sent again; what was written is not found under the token any more.

mod backoff;
mod put_off;
mod run;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Pool;

use self::backoff::RelayBackoff;
use self::worker::RelayWorker;
use super::append::Outbox;
use super::error::OutboxError;
use super::publisher::Publisher;
use super::store::OutboxDatabase;

/// The target of the relay's `tracing` events.
const TARGET: &str = "idem_messaging::relay";

/// Publishes the events of an outbox, in any number of processes.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool, publisher: impl idem_messaging::outbox::Publisher) {
/// use idem_messaging::outbox::{Outbox, Relay};
///
/// let outbox = Outbox::new();
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let relay = Relay::new(pool, &outbox, publisher);
/// let relaying = tokio::spawn(relay.run(stopped));
/// // … and at shutdown:
/// drop(stop);
/// relaying.await.expect("the relay does not panic");
/// # }
/// ```
#[must_use = "a relay publishes when it is run"]
pub struct Relay<DB: OutboxDatabase, P> {
    pool: Pool<DB>,
    outbox: Outbox,
    publisher: Arc<P>,
    options: Options,
}

#[derive(Debug, Clone)]
struct Options {
    batch: u32,
    concurrency: usize,
    lease: Duration,
    publish_timeout: Duration,
    idle_interval: Duration,
    max_attempts: u32,
    backoff: RelayBackoff,
    keep_for: Option<Duration>,
    listens: bool,
    listen_keepalive: Duration,
}

/// What a relay has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Swept {
    /// Events that were published and marked.
    pub published: u64,
    /// Attempts that failed and will be repeated.
    pub retried: u64,
    /// Events that were set aside as dead.
    pub dead: u64,
    /// Events that were given back before anybody tried to publish them.
    pub released: u64,
    /// Events whose claim had been taken over: nothing was written of them.
    pub fenced: u64,
}

impl<DB: OutboxDatabase, P: Publisher> Relay<DB, P> {
    /// Creates a relay of `outbox`. It opens a connection of its own with the options of `pool` (SQLite: it borrows one).
    pub fn new(pool: Pool<DB>, outbox: &Outbox, publisher: P) -> Self {
        Self {
            pool,
            outbox: outbox.clone(),
            publisher: Arc::new(publisher),
            options: Options {
                batch: 256,
                concurrency: 64,
                lease: Duration::from_mins(1),
                publish_timeout: Duration::from_secs(10),
                idle_interval: Duration::from_secs(1),
                max_attempts: 16,
                backoff: RelayBackoff::new(Duration::from_secs(1), Duration::from_mins(5)),
                keep_for: None,
                listens: false,
                listen_keepalive: Duration::from_mins(1),
            },
        }
    }

    /// Sets how many events the relay has claimed at most at a time; 0 counts as 1. The default is 256.
    pub fn batch(mut self, events: u32) -> Self {
        self.options.batch = events.max(1);
        self
    }

    /// Sets how many publications are under way at most at a time; 0 counts as 1. The default is 64. Events of one
    /// partition are published one after another whatever it is.
    pub fn concurrency(mut self, publications: usize) -> Self {
        self.options.concurrency = publications.clamp(1, 10_000);
        self
    }

    /// Sets for how long a claim keeps others away: at least twice the publish timeout. The default is 60 seconds. An
    /// event of a relay that died is published after that time.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// Sets the time after which an attempt to publish counts as failed. The default is 10 seconds.
    pub fn publish_timeout(mut self, timeout: Duration) -> Self {
        self.options.publish_timeout = timeout;
        self
    }

    /// Sets the longest time between two polls. The default is 1 second.
    pub fn idle_interval(mut self, interval: Duration) -> Self {
        self.options.idle_interval = interval.max(Duration::from_millis(1));
        self
    }

    /// Sets after how many attempts an event is set aside as dead; 0 counts as 1. The default is 16. An attempt is a
    /// claim that ended in an error of the event, or in the death of the relay.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.options.max_attempts = attempts.clamp(1, 1_000_000);
        self
    }

    /// Sets the backoff after a failed attempt: a random time from zero to `base` after the first, doubled with each
    /// further attempt, and at most `max` (exponential backoff with full jitter). The defaults are 1 second and 5 minutes.
    pub fn backoff(mut self, base: Duration, max: Duration) -> Self {
        self.options.backoff = RelayBackoff::new(base, max);
        self
    }

    /// Keeps published events for this time, so that they can be [republished](Outbox::republish). By default they are
    /// deleted when they have been published.
    pub fn keep_for(mut self, retention: Duration) -> Self {
        self.options.keep_for = Some(retention);
        self
    }

    /// Publishes until the future `cancel` is ready, whose output is ignored. Then it claims nothing more, waits for the
    /// publications that are under way, marks them, and gives back what nobody has tried to publish.
    ///
    /// Errors of the database are reported by `tracing`, and the relay tries again. If the returned future is dropped,
    /// the leases of its events end by time.
    pub async fn run(self, cancel: impl Future) -> Swept {
        RelayWorker::new(&self).run(cancel).await
    }

    /// Publishes what is due, and returns when nothing is due any more. For tests, and for a relay that is started at
    /// times.
    ///
    /// # Errors
    /// - [`OutboxError::Schema`] if the table is unfit.
    /// - Any error of the database. What was claimed becomes due when its lease ends.
    pub async fn sweep(&self) -> Result<Swept, OutboxError> {
        RelayWorker::new(self).sweep().await
    }
}

#[cfg(feature = "postgres")]
impl<P: Publisher> Relay<sqlx::Postgres, P> {
    /// Lets appends of other processes wake this relay, by LISTEN over one connection more beside the pool. The appends must
    /// notify: run the optional migration [`postgres_notify`](super::schema::postgres_notify), and read there what it costs.
    ///
    /// It is a hint only. A notification that is lost, or a listener that is cut off, delays an event until the next poll.
    /// While it listens, a relay that finds nothing polls at its [`idle_interval`](Self::idle_interval) at once. A pooler in
    /// transaction mode passes no notifications on: give such a relay a pool with a direct connection.
    pub fn listen(mut self) -> Self {
        self.options.listens = true;
        self
    }

    /// Sets after how much silence the connection that listens is tried. The default is 1 minute. A link that was cut somewhere
    /// on the way, without a word to this end, says nothing either: an event waits at most for this time, and then for as long
    /// again and at most 10 seconds for an answer, if its own poll does not come first.
    pub fn listen_keepalive(mut self, silence: Duration) -> Self {
        self.options.listen_keepalive = silence.max(Duration::from_millis(1));
        self
    }
}

impl<DB: OutboxDatabase, P> fmt::Debug for Relay<DB, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("outbox", &self.outbox)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
