//! The outbox: an event leaves if and only if the effect that it tells of was committed.

mod event;
mod publisher;

pub use self::event::{Event, EventBuilder, EventError, EventField, EventId, Origin, limits};
pub use self::publisher::{OutboxEvent, PublishError, PublishErrorKind, Publisher};
