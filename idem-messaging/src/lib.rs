//! Messages that are safe to repeat, in the handler's own sqlx transaction.

#[cfg(any(feature = "nats", feature = "rabbitmq"))]
pub mod broker;
pub mod inbox;
pub mod outbox;
pub mod versions;
