//! NATS JetStream.
//!
//! The adapter uses what a server 2.9 has: durable pull consumers, double acknowledgement and nak with a delay.

mod attempts;
mod dead;
mod message;
mod publisher;
mod settings;
mod source;

pub use self::publisher::NatsPublisher;
pub use self::settings::{NatsSource, NatsSourceError};
