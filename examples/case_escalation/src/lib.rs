//! A web service whose command is safe to retry, and whose events reach two consumers once: `cargo run -p
//! case-escalation`. The README says what to press.
//!
//! ```text
//! escalate ──> outbox ──> relay ──> broker ──┬──> notify    (a supervisor is told, under a lease)
//! └─ one transaction ─┘                      └──> overview  (a projection, with a version guard)
//! ```
//!
//! Every arrow may be taken twice, and every stage is reached once. There are two guards, and neither replaces the other.
//! A key tells a retry from a new request, and a message delivered twice from a new one. A constraint of the business
//! ensures that one version of a case is escalated once, by any officer under any key, and told once, under any id.

pub mod app;
pub mod body;
pub mod broker;
pub mod consumers;
pub mod database;
pub mod document;
pub mod escalate;
pub mod fact;
pub mod notifier;
pub mod notify;
pub mod operate;
pub mod overview;
pub mod page;
pub mod problem;
pub mod relay;
pub mod rights;
pub mod stages;
pub mod stub;
