//! Where messages come from, and how.

use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use crate::broker::PARKED_INTERVAL;
use crate::inbox::{Backoff, RedeliveryWindow};

const CONCURRENCY: NonZeroU16 = NonZeroU16::new(16).expect("not zero");
const DELIVERY_LIMIT: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");

/// Runs a consumer on a queue of RabbitMQ. See [`run`](Self::run).
///
/// It declares the quorum queue `queue`, `queue.dead` for dead letters, a ladder of queues such as `queue.wait.5000ms` in
/// which messages wait for their next attempt, and `queue.parked.60000ms`, in which those of unknown outcome wait until
/// somebody has settled it.
///
/// ```no_run
/// use idem_messaging::broker::rabbitmq::RabbitMqSource;
/// use idem_messaging::inbox::{Consumer, Handler};
///
/// # async fn run(consumer: Consumer<impl Handler>) -> Result<(), Box<dyn std::error::Error>> {
/// use tokio::signal::unix::{SignalKind, signal};
/// let mut sigterm = signal(SignalKind::terminate())?; // a process manager's; Ctrl-C is SIGINT
/// let stop = async move { tokio::select! { _ = sigterm.recv() => {}, _ = tokio::signal::ctrl_c() => {} } };
/// RabbitMqSource::new("amqp://localhost/%2f", "notifier")
///     .with_binding("amq.topic", "cases.#")
///     .run(consumer, stop)
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a source does nothing before it runs"]
pub struct RabbitMqSource {
    pub(super) uri: String,
    pub(super) queue: String,
    pub(super) bindings: Vec<(String, String)>,
    pub(super) ladder: Vec<Duration>,
    pub(super) concurrency: NonZeroU16,
    pub(super) delivery_limit: NonZeroU32,
    pub(super) message_ttl: Option<Duration>,
    pub(super) parked_interval: Duration,
}

/// Why a source did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RabbitMqSourceError {
    /// A name is too long for AMQP.
    #[error(
        "`{name}` is longer than the 200 bytes that a queue of a source may have; nothing was declared"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The ladder has no step, or one that is shorter than a millisecond.
    #[error(
        "the ladder of waits needs at least one step, each of a millisecond or more; nothing was declared"
    )]
    Ladder,
    /// The broker cannot be reached, or refuses, for example because a queue is there with other arguments.
    #[error("RabbitMQ: {0}; no message was taken")]
    RabbitMq(#[source] lapin::Error),
}

impl RabbitMqSource {
    /// The steps of the ladder unless others are set: 1 and 5 seconds, 30 seconds, 2 and 10 minutes, 1 hour.
    pub const LADDER: [Duration; 6] = [
        Duration::from_secs(1),
        Duration::from_secs(5),
        Duration::from_secs(30),
        Duration::from_mins(2),
        Duration::from_mins(10),
        Duration::from_hours(1),
    ];

    /// Creates a source of the queue `queue` at the broker of an AMQP URI, as in `amqp://user:password@host:5672/vhost`.
    pub fn new(uri: impl Into<String>, queue: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            queue: queue.into(),
            bindings: Vec::new(),
            ladder: Self::LADDER.to_vec(),
            concurrency: CONCURRENCY,
            delivery_limit: DELIVERY_LIMIT,
            message_ttl: None,
            parked_interval: PARKED_INTERVAL,
        }
    }

    /// Binds the queue to an exchange, which must be there.
    pub fn with_binding(
        mut self,
        exchange: impl Into<String>,
        routing_key: impl Into<String>,
    ) -> Self {
        self.bindings.push((exchange.into(), routing_key.into()));
        self
    }

    /// Sets how many messages are in work at once. It is the prefetch count too. The default is 16.
    pub fn with_concurrency(self, concurrency: NonZeroU16) -> Self {
        Self {
            concurrency,
            ..self
        }
    }

    /// Sets the waits that the ladder has. A message waits for the shortest step that is as long as its backoff, or for the
    /// longest step. The default is [`LADDER`](Self::LADDER).
    pub fn with_ladder(mut self, steps: impl IntoIterator<Item = Duration>) -> Self {
        self.ladder = steps.into_iter().collect();
        self.ladder.sort_unstable();
        self.ladder.dedup();
        self
    }

    /// Sets how often the broker delivers a message again by itself before it is a dead letter: a backstop, far above the
    /// policy's attempts, for a message that ends its consumers. The default is 10,000.
    pub fn with_delivery_limit(self, delivery_limit: NonZeroU32) -> Self {
        Self {
            delivery_limit,
            ..self
        }
    }

    /// Sets how often a parked message is tried again: a settled outcome is noticed that late. Each time costs one look-up.
    /// The default is a minute, and the minimum a millisecond. Keep it far below the retention of the records.
    pub fn with_parked_interval(self, parked_interval: Duration) -> Self {
        Self {
            parked_interval: parked_interval.max(Duration::from_millis(1)),
            ..self
        }
    }

    /// Sets how long a message waits in the queue for a consumer before it is a dead letter. Without it, without an end.
    pub fn with_message_ttl(self, ttl: Duration) -> Self {
        Self {
            message_ttl: Some(ttl),
            ..self
        }
    }

    /// Returns the step of the ladder for a wait.
    pub(super) fn rung(&self, after: Duration) -> Duration {
        let enough = self.ladder.iter().find(|rung| **rung >= after);
        let longest = self.ladder.last();
        enough.or(longest).copied().unwrap_or(after)
    }

    /// Returns how long a message may come back: every attempt may wait in the queue for its TTL, and in the ladder for its
    /// backoff. Deliveries that use up no attempt are not in it.
    pub(super) fn window(&self, attempts: NonZeroU32, backoff: Backoff) -> RedeliveryWindow {
        let Some(ttl) = self.message_ttl else {
            return RedeliveryWindow::Unlimited;
        };
        let round = ttl.saturating_add(self.rung(backoff.max()));
        RedeliveryWindow::Bounded(round.saturating_mul(attempts.get()))
    }

    pub(super) fn check(&self) -> Result<(), RabbitMqSourceError> {
        if self.queue.is_empty() || self.queue.len() > 200 {
            let name = self.queue.clone();
            return Err(RabbitMqSourceError::Name { name });
        }
        let milli = Duration::from_millis(1);
        if self.ladder.first().is_none_or(|rung| *rung < milli) {
            return Err(RabbitMqSourceError::Ladder);
        }
        for (exchange, routing_key) in &self.bindings {
            for name in [exchange, routing_key] {
                if name.len() > 255 {
                    let name = name.clone();
                    return Err(RabbitMqSourceError::Name { name });
                }
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for RabbitMqSource {
    /// Leaves out the URI, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RabbitMqSource")
            .field("queue", &self.queue)
            .field("ladder", &self.ladder)
            .finish_non_exhaustive()
    }
}
