//! NATS JetStream.
//!
//! The adapter uses what a server 2.9 has: durable pull consumers, double acknowledgement and nak with a delay.

mod attempts;
mod dead;
mod original;
mod publisher;
mod settings;
mod source;
mod worker;

pub use self::publisher::NatsPublisher;
pub use self::settings::{NatsSource, NatsSourceError};
