//! The laws of idem-messaging, on real databases and brokers.
//!
//! - [`brokers`] has a NATS server and a RabbitMQ server: those of the run, or of this process.
//! - [`receiver::Receiver`] is a consumer whose handler does as its test says, and whose effects are rows.

pub mod brokers;
pub mod receiver;
