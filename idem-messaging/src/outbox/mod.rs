//! The outbox: an event leaves if and only if the effect that it tells of was committed.

mod append;
#[cfg(feature = "operate")]
mod audited;
mod connection;
mod error;
mod event;
mod in_process;
mod operate;
mod publisher;
mod relay;
#[cfg(feature = "metrics")]
mod sampler;
pub mod schema;
mod store;
mod table;
mod wake;

pub use self::append::Outbox;
#[cfg(feature = "operate")]
pub use self::audited::{
    DeadEvent, DeadEvents, EventCount, EventDetail, EventFilter, EventState, EventSummary,
    OutboxHealth,
};
pub use self::error::OutboxError;
pub use self::event::{Event, EventBuilder, EventError, EventField, EventId, Origin, limits};
pub use self::in_process::{DeliveredEvent, InProcess, Subscription};
pub use self::publisher::{OutboxEvent, PublishError, PublishErrorKind, Publisher};
pub use self::relay::{Relay, Swept};
#[cfg(feature = "metrics")]
pub use self::sampler::OutboxSampler;
pub use self::store::OutboxDatabase;
pub use self::table::DEFAULT_TABLE;
