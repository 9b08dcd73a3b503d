//! RabbitMQ.
//!
//! The adapter uses what a server 3.10 has: quorum queues, publisher confirms, and dead-lettering at least once. That server
//! has no acknowledgement with a delay. Therefore a message that is to wait is published to one of a ladder of queues, each
//! with one fixed TTL, from which it comes back when its time is over.

mod confirm;
mod message;
mod publisher;
mod settings;
mod source;
mod topology;

pub use self::publisher::RabbitMqPublisher;
pub use self::settings::{RabbitMqSource, RabbitMqSourceError};
