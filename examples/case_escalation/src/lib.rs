//! A web service whose two commands are safe to retry: `cargo run -p case-escalation`.
//!
//! An officer escalates a case. The case, the escalation, the audit fact, the message in the outbox and the
//! record of the idempotency key are written in one transaction. A notifier tells a supervisor: no transaction
//! can roll that effect back, so this command runs under a lease.
//!
//! There are two guards, and neither replaces the other. The key tells a retry from a new request. The unique
//! constraint on the escalation ensures that one version of a case is escalated once, by any officer under any
//! key.

pub mod app;
pub mod body;
pub mod document;
pub mod escalate;
pub mod notify;
pub mod page;
pub mod problem;
pub mod store;
pub mod stub;
