//! A web service whose two commands are safe to retry: `cargo run -p case-escalation`.
//!
//! An officer escalates a case. The case, the escalation, the audit fact, the message in the outbox and
//! the record of the idempotency key are written in one transaction. A supervisor is told through a
//! notifier, an effect that no transaction takes back, so that command runs under a lease.
//!
//! Two guards stand beside each other, and neither replaces the other. The key tells a retry from a new
//! request. The unique constraint on the escalation says that one version of a case is escalated once,
//! whoever asks under whatever key.

pub mod app;
pub mod body;
pub mod document;
pub mod escalate;
pub mod notify;
pub mod page;
pub mod problem;
pub mod store;
pub mod stub;
