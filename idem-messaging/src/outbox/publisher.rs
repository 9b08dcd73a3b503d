//! What a relay hands to a broker, and what the broker's answer is.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use idem_runtime::record::Timestamp;

use super::event::Event;

/// An event as a publisher sees it: the [`Event`] that was appended, and what the outbox knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEvent {
    pub(crate) event: Event,
    pub(crate) appended_at: Timestamp,
    pub(crate) attempt: u32,
}

impl OutboxEvent {
    /// Creates what a publisher would see of `event`. For tests of a publisher; the relay makes its own.
    pub fn new(event: Event, appended_at: Timestamp, attempt: u32) -> Self {
        Self {
            event,
            appended_at,
            attempt,
        }
    }

    /// Returns when the event was appended, by the database's clock. It is the CloudEvents attribute `time`.
    pub fn appended_at(&self) -> Timestamp {
        self.appended_at
    }

    /// Returns the number of this attempt to publish the event, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the CloudEvents context attributes and extensions with their values, without prefix and without
    /// `datacontenttype`, which is [`content_type`](Event::content_type) (CloudEvents 1.0.2, section 3.1; extensions
    /// *Partitioning* and *Distributed Tracing*). A protocol binding adds its prefix, `ce-` for HTTP and NATS.
    pub fn attributes(&self) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
        let time = humantime::format_rfc3339_micros(SystemTime::from(self.appended_at)).to_string();
        let event = &self.event;
        [
            ("specversion", Some("1.0")),
            ("id", Some(event.id.as_str())),
            ("source", Some(&*event.source)),
            ("type", Some(&*event.kind)),
            ("subject", event.subject.as_deref()),
            ("partitionkey", event.partition_key.as_deref()),
            ("traceparent", event.traceparent.as_deref()),
            ("tracestate", event.tracestate.as_deref()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, Cow::Borrowed(value?))))
        .chain([("time", Cow::Owned(time))])
    }
}

impl Deref for OutboxEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

/// Publishes one event to a broker.
///
/// An event may be published more than once: the relay repeats it if it cannot know that it was taken. Therefore a
/// publisher passes the event's id on, and the receiver sees one id for ever.
///
/// ```
/// use idem_messaging::outbox::{OutboxEvent, PublishError, Publisher};
///
/// struct Print;
///
/// impl Publisher for Print {
///     async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
///         println!("{} {}: {} bytes", event.id(), event.topic(), event.payload().len());
///         Ok(())
///     }
/// }
/// ```
pub trait Publisher: Send + Sync + 'static {
    /// Publishes `event`, and returns `Ok` only after the broker has confirmed that it keeps it.
    ///
    /// The relay drops the future if it takes longer than the relay's publish timeout, and the attempt then counts as
    /// failed.
    ///
    /// # Errors
    /// [`PublishError`], which says what the relay does next.
    fn publish(&self, event: &OutboxEvent)
    -> impl Future<Output = Result<(), PublishError>> + Send;
}

impl<P: Publisher> Publisher for Arc<P> {
    fn publish(
        &self,
        event: &OutboxEvent,
    ) -> impl Future<Output = Result<(), PublishError>> + Send {
        P::publish(self, event)
    }
}

/// Why an event was not published, or may not have been.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct PublishError {
    kind: PublishErrorKind,
    retry_after: Option<Duration>,
    source: Box<dyn Error + Send + Sync>,
}

/// What a relay does about a [`PublishError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishErrorKind {
    /// Publishes the event again after a backoff. It uses up one of the event's attempts.
    Retry,
    /// Sets the event aside as dead at once.
    Permanent,
    /// Waits with the whole batch: nobody can publish now, for example because the broker is down. It uses up no
    /// attempt.
    Unavailable,
}

impl PublishError {
    /// Creates an error of this event that may pass: a timeout, a refused confirm, an answer 500.
    pub fn retry(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(PublishErrorKind::Retry, source)
    }

    /// Creates an error of this event that stays: too large for the broker, an unknown topic.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(PublishErrorKind::Permanent, source)
    }

    /// Creates an error that is not the event's: no connection to the broker.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(PublishErrorKind::Unavailable, source)
    }

    fn new(kind: PublishErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            retry_after: None,
            source: source.into(),
        }
    }

    /// Sets the least time until the next attempt, such as the value of `Retry-After`. The relay waits for it or for
    /// its backoff, whichever is longer.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Returns what the relay does about it.
    pub fn kind(&self) -> PublishErrorKind {
        self.kind
    }

    /// Returns the least time until the next attempt, if the broker gave one.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for PublishErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retry => "retry",
            Self::Permanent => "permanent",
            Self::Unavailable => "unavailable",
        })
    }
}
