//! The builder of an event, which checks everything before anything is written.

use std::collections::BTreeMap;
use std::time::Duration;

use idem_runtime::record::Timestamp;
use serde::Serialize;

use super::limits::{
    ATTRIBUTE_MAX, HEADERS_MAX, PARTITION_KEY_MAX, PAYLOAD_MAX, TOPIC_MAX, TRACESTATE_MAX,
};
use super::refused::{EventError, EventField};
use super::{Deliver, Event, Origin, text};

/// The longest time by which a delivery may be put off: 3,650 days, as the longest retention of a record.
const DELIVER_AFTER_MAX: Duration = Duration::from_hours(3_650 * 24);

/// Headers that an event has methods for, or that a publisher sets itself.
const RESERVED: [&str; 5] = [
    "content-type",
    "traceparent",
    "tracestate",
    "idempotency-key",
    "nats-msg-id",
];

/// Collects the parts of an [`Event`]; [`build`](Self::build) checks them. Topic and type are required.
#[derive(Clone, Debug)]
#[must_use = "an event is made by `build`"]
pub struct EventBuilder {
    origin: Origin,
    label: String,
    topic: Option<String>,
    partition_key: Option<String>,
    event_type: Option<String>,
    source: Option<String>,
    subject: Option<String>,
    content_type: Option<String>,
    headers: BTreeMap<String, String>,
    traceparent: Option<String>,
    tracestate: Option<String>,
    payload: Result<Vec<u8>, EventError>,
    payload_limit: usize,
    deliver: Deliver,
}

impl EventBuilder {
    pub(super) fn new(origin: &Origin, label: &str) -> Self {
        Self {
            origin: origin.clone(),
            label: label.to_owned(),
            topic: None,
            partition_key: None,
            event_type: None,
            source: None,
            subject: None,
            content_type: None,
            headers: BTreeMap::new(),
            traceparent: None,
            tracestate: None,
            payload: Ok(Vec::new()),
            payload_limit: PAYLOAD_MAX,
            deliver: Deliver::AtOnce,
        }
    }

    /// Sets the topic: 1-255 characters, without white space and control characters. Required.
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// Lets the events of this topic that have this key leave one after another: 1-255 characters, no control characters.
    /// An event without a key keeps no order and never waits for another.
    pub fn partition_key(mut self, key: impl Into<String>) -> Self {
        self.partition_key = Some(key.into());
        self
    }

    /// Sets the CloudEvents attribute `type`, such as `com.example.case.escalated.v1`: 1-255 characters. Required.
    pub fn event_type(mut self, event_type: impl Into<String>) -> Self {
        self.event_type = Some(event_type.into());
        self
    }

    /// Sets the CloudEvents attribute `source`: a URI-reference of 1-255 characters. The default is `/` and the namespace.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets the CloudEvents attribute `subject`: 1-255 characters.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Sets a header of the application's own. The name is put in lower case; the value is printable ASCII. The names
    /// of the CloudEvents attributes (`ce-..`), those of Standard Webhooks (`webhook-..`), `content-type`, `traceparent`,
    /// `tracestate`, `idempotency-key` and `nats-msg-id` are refused: the publisher sets them.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.into());
        self
    }

    /// Sets the trace context of the span that appends the event (W3C Trace Context, sections 3.2 and 3.3).
    pub fn trace_context(
        mut self,
        traceparent: impl Into<String>,
        tracestate: Option<String>,
    ) -> Self {
        self.traceparent = Some(traceparent.into());
        self.tracestate = tracestate;
        self
    }

    /// Sets the payload to `value` as JSON, and the content type to `application/json`.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        self.payload = serde_json::to_vec(value).map_err(|error| EventError::Json {
            message: error.to_string(),
        });
        self.content_type = Some("application/json".to_owned());
        self
    }

    /// Sets the payload to bytes of the media type `content_type`.
    pub fn payload(mut self, content_type: impl Into<String>, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Ok(payload.into());
        self.content_type = Some(content_type.into());
        self
    }

    /// Sets the maximum of the payload in bytes, which should be the broker's. The default is [`PAYLOAD_MAX`].
    pub fn payload_limit(mut self, bytes: usize) -> Self {
        self.payload_limit = bytes;
        self
    }

    /// Holds the event back until `at`, by the database's clock. Later events of its partition wait for it.
    pub fn deliver_at(mut self, at: Timestamp) -> Self {
        self.deliver = Deliver::At(at);
        self
    }

    /// Holds the event back for `delay` after the append, by the database's clock: at most 3,650 days. Later events of
    /// its partition wait for it.
    pub fn deliver_after(mut self, delay: Duration) -> Self {
        self.deliver = Deliver::After(delay);
        self
    }

    /// Checks every part, and makes the event.
    ///
    /// # Errors
    /// [`EventError`], which names the first field that is not as its method says, and the limit. Nothing has been
    /// written.
    pub fn build(self) -> Result<Event, EventError> {
        let id = self.origin.event_id(&self.label)?;
        let topic = required(self.topic, EventField::Topic)?;
        text::check_chars(
            EventField::Topic,
            &topic,
            TOPIC_MAX,
            "all but white space and control characters",
            text::is_topic,
        )?;
        let event_type = required(self.event_type, EventField::EventType)?;
        text::check(EventField::EventType, &event_type, ATTRIBUTE_MAX)?;
        let source = self
            .source
            .unwrap_or_else(|| format!("/{}", self.origin.namespace().as_str()));
        text::check_chars(
            EventField::Source,
            &source,
            ATTRIBUTE_MAX,
            "those of a URI-reference (RFC 3986, section 2)",
            text::is_uri,
        )?;
        optional(
            EventField::PartitionKey,
            self.partition_key.as_deref(),
            PARTITION_KEY_MAX,
        )?;
        optional(EventField::Subject, self.subject.as_deref(), ATTRIBUTE_MAX)?;
        let content_type = self
            .content_type
            .unwrap_or_else(|| "application/octet-stream".to_owned());
        text::check_chars(
            EventField::ContentType,
            &content_type,
            ATTRIBUTE_MAX,
            "printable ASCII",
            text::is_header_value,
        )?;
        check_headers(&self.headers)?;
        check_trace(self.traceparent.as_deref(), self.tracestate.as_deref())?;
        let payload = self.payload?;
        if payload.len() > self.payload_limit {
            return Err(EventError::TooLarge {
                field: EventField::Payload,
                limit: self.payload_limit,
                size: payload.len(),
            });
        }
        check_delivery(self.deliver)?;
        Ok(Event {
            id,
            topic,
            partition_key: self.partition_key,
            kind: event_type,
            source,
            subject: self.subject,
            content_type,
            headers: self.headers,
            traceparent: self.traceparent,
            tracestate: self.tracestate,
            payload,
            deliver: self.deliver,
        })
    }
}

fn required(text: Option<String>, field: EventField) -> Result<String, EventError> {
    text.ok_or(EventError::Missing { field })
}

fn optional(field: EventField, text: Option<&str>, limit: usize) -> Result<(), EventError> {
    text.map_or(Ok(()), |text| text::check(field, text, limit))
}

fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), EventError> {
    let mut size = 0;
    for (name, value) in headers {
        let field = || EventField::Header(name.clone());
        text::check_chars(
            field(),
            name,
            HEADERS_MAX,
            "those of a header's name (RFC 9110, section 5.6.2)",
            text::is_header_name,
        )?;
        if RESERVED.contains(&name.as_str())
            || name.starts_with("ce-")
            || name.starts_with("webhook-")
        {
            return Err(EventError::Form {
                field: field(),
                rule: "is set by the publisher, from the event's own fields",
            });
        }
        if let Some((index, found)) = value
            .chars()
            .enumerate()
            .find(|(_, c)| !text::is_header_value(*c))
        {
            return Err(EventError::Character {
                field: field(),
                found,
                index,
                allowed: "printable ASCII",
            });
        }
        size += name.len() + value.len();
    }
    if size > HEADERS_MAX {
        return Err(EventError::TooLarge {
            field: EventField::Headers,
            limit: HEADERS_MAX,
            size,
        });
    }
    Ok(())
}

fn check_trace(traceparent: Option<&str>, tracestate: Option<&str>) -> Result<(), EventError> {
    if traceparent.is_some_and(|text| !text::is_traceparent(text)) {
        return Err(EventError::Form {
            field: EventField::Traceparent,
            rule: "is not `00-` and the ids and flags of W3C Trace Context, section 3.2",
        });
    }
    let Some(tracestate) = tracestate else {
        return Ok(());
    };
    text::check_chars(
        EventField::Tracestate,
        tracestate,
        TRACESTATE_MAX,
        "printable ASCII",
        text::is_header_value,
    )
}

fn check_delivery(deliver: Deliver) -> Result<(), EventError> {
    let rule = match deliver {
        Deliver::At(at) if at.as_micros() < 0 => "is before 1970",
        Deliver::At(at) if at.as_micros() > MICROS_MAX => "is after the year 9999",
        Deliver::After(delay) if delay > DELIVER_AFTER_MAX => "is more than 3,650 days ahead",
        _ => return Ok(()),
    };
    Err(EventError::Form {
        field: EventField::DeliverAt,
        rule,
    })
}

/// The last microsecond of the year 9999: RFC 3339 and most clients end there.
const MICROS_MAX: i64 = 253_402_300_799_999_999;
