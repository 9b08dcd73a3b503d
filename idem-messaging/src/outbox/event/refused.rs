//! Why an event is refused before anything is written.

use std::fmt;

/// A part of an event, as [`EventError`] names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventField {
    /// The label that tells the events of one body apart.
    Label,
    /// The scope of the key that the event's id is derived from.
    Scope,
    /// The name of the operation that the event's id is derived from.
    Operation,
    /// Where the event is published.
    Topic,
    /// Which events leave one after another.
    PartitionKey,
    /// The CloudEvents attribute `type`.
    EventType,
    /// The CloudEvents attribute `source`.
    Source,
    /// The CloudEvents attribute `subject`.
    Subject,
    /// The media type of the payload.
    ContentType,
    /// The header of this name.
    Header(String),
    /// The names and values of all headers together.
    Headers,
    /// The W3C trace context header `traceparent`.
    Traceparent,
    /// The W3C trace context header `tracestate`.
    Tracestate,
    /// The bytes of the event.
    Payload,
    /// When the event may leave.
    DeliverAt,
}

impl fmt::Display for EventField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Label => "label",
            Self::Scope => "scope",
            Self::Operation => "operation",
            Self::Topic => "topic",
            Self::PartitionKey => "partition key",
            Self::EventType => "type",
            Self::Source => "source",
            Self::Subject => "subject",
            Self::ContentType => "content type",
            Self::Header(name) => return write!(f, "header `{name}`"),
            Self::Headers => "headers",
            Self::Traceparent => "traceparent",
            Self::Tracestate => "tracestate",
            Self::Payload => "payload",
            Self::DeliverAt => "deliver_at",
        })
    }
}

/// Why an event is refused. Nothing has been written.
///
/// The message names the field and the limit, and at most one character of what was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// A required field was not set.
    #[error("the event has no {field}; nothing was written; set it before build()")]
    Missing {
        /// The field.
        field: EventField,
    },
    /// A field is empty, or has only white space.
    #[error(
        "the event's {field} is blank; nothing was written; give a text with a visible character, or leave it out"
    )]
    Blank {
        /// The field.
        field: EventField,
    },
    /// A text is longer than the limit; both in characters.
    #[error(
        "the event's {field} is {length} characters long, and the limit is {limit}; nothing was written"
    )]
    TooLong {
        /// The field.
        field: EventField,
        /// The limit.
        limit: usize,
        /// The length of what was given.
        length: usize,
    },
    /// Bytes are more than the limit.
    #[error(
        "the event's {field} has {size} bytes, and the limit is {limit}; nothing was written; store the data elsewhere and send where it is"
    )]
    TooLarge {
        /// The field.
        field: EventField,
        /// The limit, in bytes.
        limit: usize,
        /// The size of what was given, in bytes.
        size: usize,
    },
    /// A text has a character that its field does not allow.
    #[error(
        "the event's {field} has {found:?} at character {index}; nothing was written; allowed are {allowed}"
    )]
    Character {
        /// The field.
        field: EventField,
        /// The first character at fault.
        found: char,
        /// Its place, in characters from 0.
        index: usize,
        /// The allowed characters, in words.
        allowed: &'static str,
    },
    /// A value has not the form that its field requires.
    #[error("the event's {field} {rule}; nothing was written")]
    Form {
        /// The field.
        field: EventField,
        /// The rule that it breaks, in words.
        rule: &'static str,
    },
    /// The payload could not be written as JSON.
    #[error("the event's payload cannot be written as JSON: {message}; nothing was written")]
    Json {
        /// What the serializer says.
        message: String,
    },
}

impl EventError {
    /// Returns the field at fault.
    pub fn field(&self) -> &EventField {
        match self {
            Self::Missing { field }
            | Self::Blank { field }
            | Self::TooLong { field, .. }
            | Self::TooLarge { field, .. }
            | Self::Character { field, .. }
            | Self::Form { field, .. } => field,
            Self::Json { .. } => &EventField::Payload,
        }
    }
}
