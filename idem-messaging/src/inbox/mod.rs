//! The inbox: a consumer of messages is a handler whose key is the message's identity.
//!
//! A broker delivers a message at least once. A handler with `#[idempotent]` runs at most once for a key, and its record is
//! the inbox: there is no second table. What is left is to say
//!
//! - which parts of a message are its key: [`MessageKey`];
//! - what is compared, which is the message's type and payload: [`Received`];
//! - what the handler answered: [`Answer`], and [`AsAnswer`] for its error type;
//! - what the broker is told then: [`Verdict`], by a [`Policy`].
//!
//! A [`Consumer`] holds them together, and [`Consumer::handle`] is one delivery. A broker's adapter fetches, calls it, and
//! carries out the verdict.

mod answer;
mod backoff;
mod cloud_event;
mod consumer;
mod database;
mod delivery;
mod handler;
mod key;
mod message;
mod policy;
mod received;
mod refused;
mod trace;
mod verdict;
mod window;

pub use self::answer::{Answer, AsAnswer};
pub use self::backoff::Backoff;
pub use self::consumer::{Consumer, ConsumerError, check_namespaces};
pub use self::delivery::Delivery;
pub use self::handler::{Handler, IntoAnswer};
pub use self::key::MessageKey;
pub use self::message::Message;
pub use self::policy::{PermanentFailures, Policy, Tried};
pub use self::received::Received;
pub use self::refused::MessageError;
pub use self::trace::{MalformedTraceParent, TraceParent};
pub use self::verdict::{DeadLetterReason, Verdict};
pub use self::window::{RedeliveryWindow, RetentionTooShort};
