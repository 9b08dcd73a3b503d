//! A broker in this process. The outbox is its store: an event stays there until each consumer has acknowledged it.

use idem_messaging::inbox::Verdict;
use idem_messaging::outbox::{InProcess, Outbox};
use idem_runtime::record::Timestamp;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use super::BrokerError;
use crate::consumers::Consumers;
use crate::fact::TOPIC;

/// What the relay publishes to.
pub type Publisher = InProcess;

/// The broker.
#[derive(Debug)]
pub struct Broker {
    consumers: Consumers,
    outbox: Outbox,
    events: InProcess,
    runs: Mutex<Option<Runs>>,
}

/// The consumers while the broker runs.
#[derive(Debug)]
struct Runs {
    stop: watch::Sender<()>,
    tasks: JoinSet<()>,
}

impl Broker {
    /// Starts the broker and its consumers.
    ///
    /// # Errors
    /// A consumer's.
    pub async fn open(consumers: Consumers, outbox: Outbox) -> Result<Self, BrokerError> {
        let broker = Self {
            consumers,
            outbox,
            events: InProcess::new(),
            runs: Mutex::default(),
        };
        broker.start().await?;
        Ok(broker)
    }

    /// Returns what the relay publishes to.
    pub fn publisher(&self) -> Publisher {
        self.events.clone()
    }

    /// Starts it, if it does not run.
    ///
    /// # Errors
    /// A consumer's.
    pub async fn start(&self) -> Result<(), BrokerError> {
        let mut runs = self.runs.lock().await;
        if runs.is_some() {
            return Ok(());
        }
        let (stop, _) = watch::channel(());
        let stopped = || {
            let mut stopped = stop.subscribe();
            async move { drop(stopped.changed().await) }
        };
        let mut tasks = JoinSet::new();
        let (notifier, overview) = (self.consumers.notifier()?, self.consumers.overview()?);
        tasks.spawn(self.events.subscribe(TOPIC).run(notifier, stopped()));
        tasks.spawn(self.events.subscribe(TOPIC).run(overview, stopped()));
        *runs = Some(Runs { stop, tasks });
        Ok(())
    }

    /// Stops it. Without subscribers the events stay in the outbox.
    ///
    /// # Errors
    /// None.
    pub async fn stop(&self) -> Result<(), BrokerError> {
        if let Some(Runs { stop, mut tasks }) = self.runs.lock().await.take() {
            drop(stop);
            while tasks.join_next().await.is_some() {}
        }
        Ok(())
    }

    /// Returns whether it runs.
    pub async fn runs(&self) -> bool {
        self.runs.lock().await.is_some()
    }

    /// Delivers every message again.
    ///
    /// # Errors
    /// The database's.
    pub async fn deliver_again(&self) -> Result<(), BrokerError> {
        let (pool, now) = (&self.consumers.pool, Timestamp::from_micros(i64::MAX / 4));
        let from = Timestamp::from_micros(0);
        self.outbox.republish(pool, from, now).await?;
        Ok(())
    }

    /// Lets the parked messages come back, after somebody has settled what was unknown.
    ///
    /// # Errors
    /// The database's.
    pub async fn requeue_parked(&self) -> Result<(), BrokerError> {
        // They are dead in the outbox; one that is dead for another reason is dead again at once.
        self.outbox
            .requeue_topic(&self.consumers.pool, TOPIC)
            .await?;
        Ok(())
    }

    /// Returns the number of messages that wait until an unknown outcome is settled, if everything else has arrived. What
    /// has left the outbox has been acknowledged.
    ///
    /// # Errors
    /// The database's.
    pub async fn idle(&self) -> Result<Option<i64>, BrokerError> {
        let parked = "SELECT count(*) FROM idem_outbox WHERE state = 2 AND last_error LIKE $1";
        let parked = sqlx::query_scalar(parked).bind(format!("{}%", Verdict::OUTCOME_UNKNOWN));
        Ok(Some(parked.fetch_one(&self.consumers.pool).await?))
    }
}
