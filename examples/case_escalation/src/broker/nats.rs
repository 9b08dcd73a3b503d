//! NATS JetStream: a server of the machine's package that ends with this program.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::stream::Config;
use async_nats::jetstream::{self, Context};
use idem_messaging::broker::nats::{NatsPublisher, NatsSource};
use idem_messaging::inbox::{Consumer, ConsumerError, Handler};
use idem_messaging::outbox::Outbox;
use idem_tests_cluster::broker::NatsServer;
use tokio::task::{JoinSet, spawn_blocking};

use super::BrokerError;
use crate::consumers::Consumers;
use crate::fact::TOPIC;

/// What the relay publishes to.
pub type Publisher = NatsPublisher;

const CASES: &str = "CASES";
const PARKED: &str = "PARKED";
const MESSAGE_ID: &str = "Nats-Msg-Id";
const CONSUMERS: [&str; 2] = ["notifier", "overview"];

/// The server, and the consumers on it.
#[derive(Debug)]
pub struct Broker {
    server: Arc<Mutex<Process>>,
    jetstream: Context,
    /// They end with the broker.
    _sources: JoinSet<()>,
}

#[derive(Debug)]
struct Process {
    server: NatsServer,
    runs: bool,
}

impl Broker {
    /// Starts a server, creates its streams, and starts the consumers.
    ///
    /// # Errors
    /// The server's.
    pub async fn open(consumers: Consumers, _outbox: Outbox) -> Result<Self, BrokerError> {
        let server = spawn_blocking(NatsServer::start).await??;
        let url = format!("127.0.0.1:{}", server.port());
        let jetstream = jetstream::new(async_nats::connect(url).await?);
        let streams = [
            (CASES, "cases.>"),
            ("DEAD", "dead.*.*"),
            (PARKED, "dead.*.outcome_unknown.>"),
        ];
        for (name, subjects) in streams {
            let config = Config {
                name: name.to_owned(),
                subjects: vec![subjects.to_owned()],
                // Below the retention of the consumers' records, so that no message outlives its record.
                max_age: Duration::from_hours(6 * 24),
                ..Config::default()
            };
            jetstream.create_stream(config).await?;
        }
        let mut sources = JoinSet::new();
        let source = |name: &str| {
            NatsSource::new(jetstream.clone(), CASES, name, format!("dead.{name}"))
                .with_parked_interval(Duration::from_secs(1))
        };
        let (of_notifier, of_overview) = (consumers.clone(), consumers);
        sources.spawn(run(source(CONSUMERS[0]), move || of_notifier.notifier()));
        sources.spawn(run(source(CONSUMERS[1]), move || of_overview.overview()));
        let runs = true;
        Ok(Self {
            server: Arc::new(Mutex::new(Process { server, runs })),
            jetstream,
            _sources: sources,
        })
    }

    /// Returns what the relay publishes to.
    pub fn publisher(&self) -> Publisher {
        NatsPublisher::new(self.jetstream.clone())
    }

    /// Starts the server again, if it does not run. Its streams are as they were.
    ///
    /// # Errors
    /// The server's.
    pub async fn start(&self) -> Result<(), BrokerError> {
        self.switch(true).await
    }

    /// Kills the server.
    ///
    /// # Errors
    /// The server's.
    pub async fn stop(&self) -> Result<(), BrokerError> {
        self.switch(false).await
    }

    async fn switch(&self, on: bool) -> Result<(), BrokerError> {
        let process = Arc::clone(&self.server);
        let switch = move || {
            let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
            if process.runs == on {
                return Ok(());
            }
            process.runs = on;
            if on {
                process.server.restart()
            } else {
                process.server.kill()
            }
        };
        Ok(spawn_blocking(switch).await??)
    }

    /// Returns whether it runs.
    #[expect(clippy::unused_async, reason = "the broker in the process waits here")]
    pub async fn runs(&self) -> bool {
        let process = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        process.runs
    }

    /// Delivers every message again, as a producer does that does not know whether it was heard: under another
    /// `Nats-Msg-Id`, which the server would recognise, and with the `ce-id` that the consumers know.
    ///
    /// # Errors
    /// The server's.
    pub async fn deliver_again(&self) -> Result<(), BrokerError> {
        let stream = self.jetstream.get_stream(CASES).await?;
        for sequence in 1..=stream.cached_info().state.last_sequence {
            let message = stream.get_raw_message(sequence).await?;
            if message.headers.get(MESSAGE_ID).is_none() {
                // It is such a copy.
                continue;
            }
            let mut headers = HeaderMap::new();
            for (name, values) in message.headers.iter() {
                let own: &str = name.as_ref();
                for value in values.iter().filter(|_| own != MESSAGE_ID) {
                    headers.append(name.clone(), value.clone());
                }
            }
            let (jetstream, payload) = (&self.jetstream, message.payload);
            let sent = jetstream.publish_with_headers(TOPIC, headers, payload);
            sent.await?.await?;
        }
        Ok(())
    }

    /// Does nothing: the parked messages come back by themselves, each second.
    ///
    /// # Errors
    /// None.
    #[expect(clippy::unused_async, reason = "the broker in the process waits here")]
    pub async fn requeue_parked(&self) -> Result<(), BrokerError> {
        Ok(())
    }

    /// Returns the number of messages that wait until an unknown outcome is settled, if everything else has arrived.
    ///
    /// # Errors
    /// The server's.
    pub async fn idle(&self) -> Result<Option<i64>, BrokerError> {
        let stream = self.jetstream.get_stream(CASES).await?;
        for name in CONSUMERS {
            let mut consumer: PullConsumer = stream.get_consumer(name).await?;
            let info = consumer.info().await?;
            if info.num_pending > 0 || info.num_ack_pending > 0 {
                return Ok(None);
            }
        }
        let parked = self.jetstream.get_stream(PARKED).await?;
        Ok(Some(i64::try_from(parked.cached_info().state.messages)?))
    }
}

/// Runs a consumer. Once it has started, it restores what breaks by itself; the server may be stopped before that.
async fn run<H: Handler>(
    source: NatsSource,
    consumer: impl Fn() -> Result<Consumer<H>, ConsumerError>,
) {
    while let Ok(consumer) = consumer() {
        match source.clone().run(consumer, pending()).await {
            Ok(()) => return,
            Err(error) => eprintln!("a consumer did not start, and tries again: {error}"),
        }
    }
}
