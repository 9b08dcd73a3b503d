//! Messages that are safe to repeat, in the handler's own sqlx transaction.
//!
//! - [`outbox`]: an event leaves if and only if the handler's effect was committed.
//! - [`inbox`]: a consumer is a handler whose key is the message's id.
//! - [`versions`]: a projection applies an event only if it is the next one.

// A library that builds on this one leaves the databases to the program.
#![cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "without a database nothing asks it")
)]

pub mod broker;
pub mod inbox;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod outbox;
pub mod versions;

/// The pages whose examples run as tests.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../../docs/messages/brokers.md")]
    struct BrokersPage;
    #[doc = include_str!("../../docs/messages/consumer.md")]
    struct ConsumerPage;
    #[doc = include_str!("../../docs/messages/outbox.md")]
    struct OutboxPage;
    #[doc = include_str!("../../docs/messages/strategies.md")]
    struct StrategiesPage;
}
