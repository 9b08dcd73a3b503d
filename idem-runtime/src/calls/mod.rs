//! One call, from the key to the answer: in a transaction, or under a lease.

pub(crate) mod engine;
pub mod lease;
pub mod telemetry;
