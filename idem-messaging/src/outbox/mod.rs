//! The outbox: an event leaves if and only if the effect that it tells of was committed.

mod append;
mod connection;
mod error;
mod event;
mod in_process;
mod operate;
mod publisher;
mod relay;
pub mod schema;
mod store;
mod table;
mod wake;

pub use self::append::Outbox;
pub use self::error::OutboxError;
pub use self::event::{Event, EventBuilder, EventError, EventField, EventId, Origin, limits};
pub use self::in_process::{DeliveredEvent, InProcess, Subscription};
pub use self::publisher::{OutboxEvent, PublishError, PublishErrorKind, Publisher};
pub use self::relay::{Relay, Swept};
pub use self::store::OutboxDatabase;
pub use self::table::DEFAULT_TABLE;
