//! Messages that are safe to repeat, in the handler's own sqlx transaction.

#[cfg(any(feature = "nats", feature = "rabbitmq"))]
pub mod broker;
pub mod inbox;
pub mod outbox;
pub mod versions;

/// The pages whose examples run as tests.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../../docs/messages/consumer.md")]
    struct Consumer;
    #[doc = include_str!("../../docs/messages/strategies.md")]
    struct Strategies;
}
