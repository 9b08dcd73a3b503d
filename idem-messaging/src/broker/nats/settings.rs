//! Where messages come from, and how.

use std::num::NonZeroU32;
use std::time::Duration;

use async_nats::jetstream;

use crate::broker::PARKED_INTERVAL;
use crate::inbox::Verdict;

const CONCURRENCY: NonZeroU32 = NonZeroU32::new(16).expect("not zero");
const MAX_DELIVER: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");

/// Runs a consumer on a JetStream stream. See [`run`](Self::run).
///
/// ```no_run
/// use idem_messaging::broker::nats::NatsSource;
/// use idem_messaging::inbox::{Consumer, Handler};
///
/// # async fn run(consumer: Consumer<impl Handler>) -> Result<(), Box<dyn std::error::Error>> {
/// let jetstream = async_nats::jetstream::new(async_nats::connect("nats://localhost").await?);
/// use tokio::signal::unix::{SignalKind, signal};
/// let mut sigterm = signal(SignalKind::terminate())?; // a process manager's; Ctrl-C is SIGINT
/// let stop = async move { tokio::select! { _ = sigterm.recv() => {}, _ = tokio::signal::ctrl_c() => {} } };
/// NatsSource::new(jetstream, "CASES", "notifier", "dead.notifier")
///     .with_filter("cases.escalated")
///     .run(consumer, stop)
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a source does nothing before it runs"]
pub struct NatsSource {
    pub(super) jetstream: jetstream::Context,
    pub(super) stream: String,
    pub(super) durable: String,
    pub(super) dead: String,
    pub(super) filter: String,
    pub(super) concurrency: NonZeroU32,
    pub(super) ack_wait: Duration,
    pub(super) max_deliver: NonZeroU32,
    pub(super) parked_interval: Duration,
}

/// Why a source did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsSourceError {
    /// A name cannot be that of a stream and of a durable consumer.
    #[error(
        "`{name}` has other characters than ASCII letters, digits, `-` and `_`, or none; choose another name"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// No stream is bound to the subject of the dead letters, so that they would be lost.
    #[error(
        "no stream is bound to `{subject}`: a dead letter could not be kept; create a stream for `{dead}.>`"
    )]
    NoDeadLetterStream {
        /// The subject that was looked for.
        subject: String,
        /// The beginning of the dead letters' subjects.
        dead: String,
    },
    /// The durable consumer is there with settings that lose messages or deliver too seldom.
    #[error(
        "consumer `{durable}` is there with other settings: {setting}; delete it at the server, or change it there"
    )]
    OtherSettings {
        /// The consumer.
        durable: String,
        /// What is otherwise.
        setting: String,
    },
    /// The server refused, or did not answer.
    #[error("NATS: {0}; no message was taken")]
    Nats(#[source] async_nats::Error),
}

impl NatsSource {
    /// Creates a source of the stream `stream` with the durable consumer `durable`, which is created if it is not there.
    /// Dead letters go to the subject `dead` and their reason, as in `dead.notifier.mismatch`; a stream must be bound to
    /// `dead` and `.>`.
    ///
    /// A message whose outcome is unknown is parked there, under `dead`, `outcome_unknown`, stream and durable consumer, as in
    /// `dead.notifier.outcome_unknown.CASES.notifier`. The source tries it again [from time to
    /// time](Self::with_parked_interval), and so it gets the recorded answer once the outcome is settled.
    pub fn new(
        jetstream: jetstream::Context,
        stream: impl Into<String>,
        durable: impl Into<String>,
        dead: impl Into<String>,
    ) -> Self {
        Self {
            jetstream,
            stream: stream.into(),
            durable: durable.into(),
            dead: dead.into(),
            filter: String::new(),
            concurrency: CONCURRENCY,
            ack_wait: Duration::from_secs(30),
            max_deliver: MAX_DELIVER,
            parked_interval: PARKED_INTERVAL,
        }
    }

    /// Takes only messages whose subject fits `subject`, which may have wildcards. Without it, all of the stream.
    pub fn with_filter(self, subject: impl Into<String>) -> Self {
        let filter = subject.into();
        Self { filter, ..self }
    }

    /// Sets how many messages are in work at once. The default is 16.
    pub fn with_concurrency(self, concurrency: NonZeroU32) -> Self {
        Self {
            concurrency,
            ..self
        }
    }

    /// Sets after which silence the server delivers a message to another process. While a handler runs, the server is told
    /// so three times in that time. The default is 30 seconds, and the minimum 100 ms.
    pub fn with_ack_wait(self, ack_wait: Duration) -> Self {
        let ack_wait = ack_wait.max(Duration::from_millis(100));
        Self { ack_wait, ..self }
    }

    /// Sets how often the server delivers a message at the most: a backstop, far above the policy's attempts. At the last
    /// delivery the message becomes a dead letter instead of being tried again. The default is 10,000.
    pub fn with_max_deliver(self, max_deliver: NonZeroU32) -> Self {
        Self {
            max_deliver,
            ..self
        }
    }

    /// Sets how often a parked message is tried again: a settled outcome is noticed that late. Each time costs one look-up.
    /// The default is a minute. Keep it far below the retention of the records.
    pub fn with_parked_interval(self, parked_interval: Duration) -> Self {
        Self {
            parked_interval,
            ..self
        }
    }

    /// Returns the subject of what is set aside for a reason. Parked messages are this source's alone, because it tries them
    /// again.
    pub(super) fn aside(&self, reason: &str) -> String {
        let dead = &self.dead;
        if reason == Verdict::OUTCOME_UNKNOWN {
            return format!("{dead}.{reason}.{}.{}", self.stream, self.durable);
        }
        format!("{dead}.{reason}")
    }
}
