//! Brokers: a source runs an inbox [`Consumer`](crate::inbox::Consumer) to the end, and a publisher takes the events of an
//! outbox.
//!
//! | | NATS JetStream (feature `nats`) | RabbitMQ (feature `rabbitmq`) |
//! |---|---|---|
//! | tested with | `nats-server` 2.9 | `rabbitmq-server` 3.10 |
//! | consumer | durable pull consumer, one message a request | quorum queue, manual acknowledgement |
//! | acknowledgement | confirmed by the server (double ack) | `basic.ack` |
//! | retry after a time | nak with a delay | a ladder of queues with one fixed TTL each |
//! | attempts | a stream of numbers, written after a failure only | the header `x-idem-attempts` |
//! | outcome unknown | parked in the stream of dead letters, and tried again each interval | parked in a queue whose TTL is the interval |
//! | dead letter | published to a subject and confirmed, then term | published to a queue and confirmed, then ack |
//! | publisher | `Nats-Msg-Id` is the event's id, acknowledged | publisher confirms, `mandatory` |
//!
//! While the database is away, a source fetches nothing, keeps the messages that it has, and tries them again by the
//! pauses of the [`Policy`](crate::inbox::Policy). No attempt is used up, and the broker counts no delivery.
//!
//! A message whose outcome is unknown is parked. It comes back by itself, from time to time, until somebody has settled the
//! outcome, and then it gets the recorded answer. A resolve needs to say nothing to the broker.
//!
//! [`InProcess`](crate::outbox::InProcess) is a broker too: [`Subscription::run`](crate::outbox::Subscription::run).
//!
//! A source that is told to stop takes no other message, finishes those whose handler runs, and gives back those that wait.
//! If its future is dropped instead, the broker delivers again what was under way.
//!
//! The feature `webhook` has a publisher only, to HTTP endpoints.

mod closing;
mod in_process;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(any(feature = "nats", feature = "rabbitmq"))]
mod pause;
#[cfg(feature = "rabbitmq")]
pub mod rabbitmq;
#[cfg(any(feature = "nats", feature = "rabbitmq"))]
mod serve;
#[cfg(any(feature = "nats", feature = "rabbitmq", feature = "webhook"))]
mod text;
#[cfg(feature = "webhook")]
pub mod webhook;

/// How often a parked message is tried again.
#[cfg(any(feature = "nats", feature = "rabbitmq"))]
const PARKED_INTERVAL: std::time::Duration = std::time::Duration::from_mins(1);
