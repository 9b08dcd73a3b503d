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
//! | dead letter | published to a subject and confirmed, then term | published to a queue and confirmed, then ack |
//! | publisher | `Nats-Msg-Id` is the event's id, acknowledged | publisher confirms, `mandatory` |
//!
//! While the database is away, a source fetches nothing, keeps the messages that it has, and tries them again by the
//! pauses of the [`Policy`](crate::inbox::Policy). No attempt is used up, and the broker counts no delivery.
//!
//! A source that is told to stop takes no other message, finishes those whose handler runs, and gives back those that wait.
//! If its future is dropped instead, the broker delivers again what was under way.

#[cfg(feature = "nats")]
pub mod nats;
mod pause;
#[cfg(feature = "rabbitmq")]
pub mod rabbitmq;
mod serve;
mod text;
