//! The event: what is appended, and what a publisher sends.

mod build;
pub mod limits;
mod origin;
mod refused;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use idem_runtime::record::Timestamp;

pub use self::build::EventBuilder;
pub use self::origin::{EventId, Origin};
pub use self::refused::{EventError, EventField};

/// An event that was built and checked. [`Outbox::append`](super::Outbox::append) writes it into the transaction.
///
/// It has the context attributes of CloudEvents (version 1.0.2, section 3.1): [`id`](Self::id),
/// [`source`](Self::source), [`type`](Self::event_type), and where they were set [`subject`](Self::subject), the content
/// type, the partition key (extension `partitionkey`) and the trace context (extension *Distributed Tracing*).
///
/// `Debug` leaves out the payload, the headers' values, the subject and the partition key: they may be personal data.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    pub(crate) id: EventId,
    pub(crate) topic: String,
    pub(crate) partition_key: Option<String>,
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) subject: Option<String>,
    pub(crate) content_type: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) traceparent: Option<String>,
    pub(crate) tracestate: Option<String>,
    pub(crate) payload: Vec<u8>,
    pub(crate) deliver: Deliver,
}

/// When an event may leave for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Deliver {
    #[default]
    AtOnce,
    /// At a time of the database's clock.
    At(Timestamp),
    /// So long after the append, by the database's clock.
    After(Duration),
}

impl Event {
    /// Starts an event of the call `origin`. The `label` tells the events of one call apart, and is a part of the id: it
    /// must stay the same when the code changes.
    ///
    /// ```
    /// # use idem_messaging::outbox::{Event, Origin};
    /// # use idem_runtime::{IdempotencyKey, Operation};
    /// # const ESCALATE: Operation = Operation::new("cases", "escalate");
    /// # let key: IdempotencyKey = "8e03978e".parse()?;
    /// # let origin = Origin::of(ESCALATE, &key.global())?;
    /// let event = Event::builder(&origin, "escalated")
    ///     .topic("cases")
    ///     .event_type("com.example.case.escalated.v1")
    ///     .partition_key("case-17")
    ///     .json(&serde_json::json!({ "case": 17, "level": 2 }))
    ///     .build()?;
    /// assert_eq!(event.source(), "/cases");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(origin: &Origin, label: &str) -> EventBuilder {
        EventBuilder::new(origin, label)
    }

    /// Returns the id. It is the same for every repetition of the call, and the same in every delivery.
    pub fn id(&self) -> &EventId {
        &self.id
    }

    /// Returns the topic: the subject of NATS, the routing key of AMQP, the endpoint of a webhook.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Returns the partition key, or `None` if the event keeps no order with others.
    pub fn partition_key(&self) -> Option<&str> {
        self.partition_key.as_deref()
    }

    /// Returns the CloudEvents attribute `type`.
    pub fn event_type(&self) -> &str {
        &self.kind
    }

    /// Returns the CloudEvents attribute `source`: `/` and the namespace, unless another was set.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the CloudEvents attribute `subject`, if one was set.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Returns the media type of the payload; the CloudEvents attribute `datacontenttype`.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// Returns the application's own headers, by name. Names are in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the W3C `traceparent` of the span that appended the event, if one was set.
    pub fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }

    /// Returns the W3C `tracestate`, if one was set.
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// Returns the payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

/// An event as it is stored and read. What was built was checked; what is read is not checked again.
impl Event {
    pub(crate) fn stored(
        id: String,
        topic: String,
        partition_key: Option<String>,
        kind: String,
        source: String,
        payload: Vec<u8>,
    ) -> Self {
        Self {
            id: EventId::stored(id),
            topic,
            partition_key,
            kind,
            source,
            subject: None,
            content_type: String::new(),
            headers: BTreeMap::new(),
            traceparent: None,
            tracestate: None,
            payload,
            deliver: Deliver::AtOnce,
        }
    }

    pub(crate) fn described(
        mut self,
        subject: Option<String>,
        content_type: String,
        headers: Option<String>,
    ) -> Self {
        self.subject = subject;
        self.content_type = content_type;
        self.headers = headers
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        self
    }

    pub(crate) fn traced(
        mut self,
        traceparent: Option<String>,
        tracestate: Option<String>,
    ) -> Self {
        self.traceparent = traceparent;
        self.tracestate = tracestate;
        self
    }

    /// The headers as a JSON object, or `None` if there are none.
    pub(crate) fn headers_text(&self) -> Option<String> {
        if self.headers.is_empty() {
            return None;
        }
        serde_json::to_string(&self.headers).ok()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("id", &self.id)
            .field("topic", &self.topic)
            .field("type", &self.kind)
            .field("source", &self.source)
            .field("content_type", &self.content_type)
            .field("payload_bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}
