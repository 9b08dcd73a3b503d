//! The broker, and the consumers that it delivers to: one in this process, or NATS with the feature `postgres-nats`.
//!
//! Both are started and stopped, deliver everything again, and say whether all that they were given has arrived.

#[cfg(not(feature = "postgres-nats"))]
mod in_process;
#[cfg(feature = "postgres-nats")]
mod nats;

#[cfg(not(feature = "postgres-nats"))]
pub use in_process::{Broker, Publisher};
#[cfg(feature = "postgres-nats")]
pub use nats::{Broker, Publisher};

/// Why a broker does not do what it was asked.
pub type BrokerError = Box<dyn std::error::Error + Send + Sync>;
