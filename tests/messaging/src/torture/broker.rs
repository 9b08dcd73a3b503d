//! The NATS server of a run, behind links that can fail.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::stream::Config;
use async_nats::jetstream::{self, Context};
use idem_tests::torture::Fault;
use idem_tests::torture::link::{HOLD, Link};
use idem_tests_cluster::broker::NatsServer;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::evidence::{Letter, Publication};
use super::fact::TOPIC;
use super::nemesis::Role;

/// The stream of the events.
pub const STREAM: &str = "EVENTS";
/// The subjects of the dead letters begin with this, and so does the name of their stream, in capitals.
pub const DEAD: &str = "dead";
const DEAD_STREAM: &str = "DEAD";
/// The consumers of the stream, each durable.
pub const CONSUMERS: [&str; 2] = ["ledger", "projection"];

const MESSAGE_ID: &str = "Nats-Msg-Id";
/// The ending of a publication, whose payload is a JSON object.
const PUBLICATION: &[&[u8]] = &[b"}\r\n"];
/// The ending of an acknowledgement.
const ACKNOWLEDGEMENT: &[&[u8]] = &[b"+ACK\r\n"];

/// The server, its streams and the links to it.
#[derive(Debug)]
pub struct Broker {
    server: Mutex<NatsServer>,
    jetstream: Context,
    relays: Link,
    consumers: Link,
}

impl Broker {
    /// Starts a server, and creates its streams.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no server on this machine, or if it does not do as it is told.
    pub async fn start() -> Result<Self, Fault> {
        let server = block_in_place(NatsServer::start)?;
        let target = ("127.0.0.1".to_owned(), server.port());
        let jetstream = connect(&format!("127.0.0.1:{}", server.port())).await?;
        for (name, subject) in [(STREAM, TOPIC), (DEAD_STREAM, DEAD)] {
            let config = Config {
                name: name.to_owned(),
                subjects: vec![format!("{subject}.>")],
                // The least there is, so that the consumers meet what is published again.
                duplicate_window: Duration::from_millis(100),
                max_age: Duration::from_hours(24),
                ..Config::default()
            };
            jetstream.create_stream(config).await?;
        }
        Ok(Self {
            server: Mutex::new(server),
            jetstream,
            relays: Link::to(target.clone(), PUBLICATION).await?,
            consumers: Link::to(target, ACKNOWLEDGEMENT).await?,
        })
    }

    /// Returns the link of the processes of a role.
    pub fn link(&self, role: Role) -> &Link {
        match role {
            Role::Consumer => &self.consumers,
            Role::Caller | Role::Relay => &self.relays,
        }
    }

    /// Kills the server, and starts it again after a while.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not start.
    pub async fn kill(&self) -> Result<(), Fault> {
        let server = || self.server.lock().unwrap_or_else(PoisonError::into_inner);
        block_in_place(|| server().kill())?;
        sleep(HOLD).await;
        Ok(block_in_place(|| server().restart())?)
    }

    /// Returns the number of deliveries that are not acknowledged yet, parked ones included.
    ///
    /// # Errors
    ///
    /// Returns the server's errors.
    pub async fn waiting(&self) -> Result<u64, Fault> {
        let stream = self.jetstream.get_stream(STREAM).await?;
        let mut waiting = 0;
        for name in CONSUMERS {
            let mut consumer: PullConsumer = stream.get_consumer(name).await?;
            let info = consumer.info().await?;
            waiting += info.num_pending + info.num_ack_pending as u64;
        }
        Ok(waiting)
    }

    /// Reads the stream of the events.
    ///
    /// # Errors
    ///
    /// Returns the server's errors, and an error for what no relay of the run has published.
    pub async fn publications(&self) -> Result<Vec<Publication>, Fault> {
        let stream = self.jetstream.get_stream(STREAM).await?;
        let mut found = Vec::new();
        for sequence in 1..=stream.cached_info().state.last_sequence {
            let message = stream.get_raw_message(sequence).await?;
            let id = message.headers.get(MESSAGE_ID);
            found.push(Publication {
                event: id.ok_or("a message without an id")?.to_string(),
                topic: message.subject.to_string(),
                fact: serde_json::from_slice(&message.payload)?,
            });
        }
        Ok(found)
    }

    /// Reads the dead letters, and what is parked.
    ///
    /// # Errors
    ///
    /// Returns the server's errors.
    pub async fn letters(&self) -> Result<Vec<Letter>, Fault> {
        let stream = self.jetstream.get_stream(DEAD_STREAM).await?;
        let mut found = Vec::new();
        for sequence in 1..=stream.cached_info().state.last_sequence {
            // A parked message that was settled is deleted.
            let Ok(message) = stream.get_raw_message(sequence).await else {
                continue;
            };
            let detail = message.headers.get("idem-detail");
            found.push(Letter {
                topic: message.subject.to_string(),
                detail: detail.map(ToString::to_string).unwrap_or_default(),
                payload: String::from_utf8_lossy(&message.payload).into_owned(),
            });
        }
        Ok(found)
    }

    /// Returns the disturbed messages of each link, by kind.
    pub fn hits(&self) -> BTreeMap<String, u64> {
        let links = [
            (Role::Relay, &self.relays),
            (Role::Consumer, &self.consumers),
        ];
        let hits = links.into_iter().flat_map(|(role, link)| {
            let wire = super::nemesis::Wire::Broker(role);
            let hits = link.hits().into_iter();
            hits.map(move |(harm, count)| (format!("{wire}: {harm}"), count))
        });
        hits.collect()
    }
}

/// Connects to a broker that may be away, now or at any time.
///
/// # Errors
///
/// Returns an error if the address cannot be parsed.
pub async fn connect(address: &str) -> Result<Context, Fault> {
    let again = |attempt: usize| {
        let attempt = u64::try_from(attempt).unwrap_or(u64::MAX);
        Duration::from_millis(attempt.saturating_mul(20).min(500))
    };
    let options = ConnectOptions::new()
        .retry_on_initial_connect()
        .reconnect_delay_callback(again);
    Ok(jetstream::new(options.connect(address).await?))
}
