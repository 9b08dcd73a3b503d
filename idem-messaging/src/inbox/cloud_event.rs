//! CloudEvents 1.0, in binary and in structured mode.
//!
//! In binary mode the attributes are headers. Each binding has a prefix of its own: `ce-` for HTTP and NATS, where values
//! are percent-encoded (HTTP binding 1.0.2, section 3.1.3.2); `ce_` for Kafka; `cloudEvents:` and `cloudEvents_` for AMQP
//! 1.0. AMQP 0-9-1 has no binding; there the same prefixes are read. In structured mode the payload is the whole event, as
//! JSON (JSON event format 1.0.2, section 3).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::message::Message;
use super::refused::MessageError;

const PREFIXES: [&str; 4] = ["ce-", "ce_", "cloudEvents:", "cloudEvents_"];

/// The attributes that identify an event and say what it is.
pub(super) struct Attributes {
    pub(super) id: Option<String>,
    pub(super) source: Option<String>,
    pub(super) event_type: Option<String>,
}

/// An event as JSON. What is required is looked for by whoever needs it, so that a message names what it lacks.
#[derive(Deserialize)]
struct Envelope<T> {
    specversion: Option<String>,
    id: Option<String>,
    source: Option<String>,
    #[serde(rename = "type")]
    event_type: Option<String>,
    data: Option<T>,
    data_base64: Option<String>,
}

/// Returns the attributes, or `None` if the message is no CloudEvent.
pub(super) fn attributes(message: &Message) -> Result<Option<Attributes>, MessageError> {
    if is_structured(message)? {
        let envelope = envelope::<IgnoredAny>(message)?;
        return Ok(Some(Attributes {
            id: envelope.id,
            source: envelope.source,
            event_type: envelope.event_type,
        }));
    }
    let Some(version) = header(message, "specversion")? else {
        return Ok(None);
    };
    check_version(&version)?;
    Ok(Some(Attributes {
        id: header(message, "id")?,
        source: header(message, "source")?,
        event_type: header(message, "type")?,
    }))
}

/// Decodes the event's data from JSON: the payload in binary mode, the member `data` in structured mode.
pub(super) fn data<T: DeserializeOwned>(message: &Message) -> Result<T, MessageError> {
    if !is_structured(message)? {
        return json(message.payload());
    }
    let envelope = envelope::<T>(message)?;
    match (envelope.data, envelope.data_base64) {
        (Some(data), _) => Ok(data),
        (None, Some(text)) => {
            let bytes = STANDARD.decode(text).map_err(|_| MessageError::Payload {
                expected: "a CloudEvent as JSON",
                message: "its `data_base64` is not Base64".to_owned(),
            })?;
            json(&bytes)
        }
        (None, None) => json(b"null"),
    }
}

/// Whether the payload is the whole event. Refuses an event in a form that is not read.
fn is_structured(message: &Message) -> Result<bool, MessageError> {
    let form = match message.media_type()?.as_deref() {
        Some("application/cloudevents+json" | "application/cloudevents") => return Ok(true),
        Some(media) if media.starts_with("application/cloudevents-batch") => "a batch",
        Some(media) if media.starts_with("application/cloudevents") => "a format other than JSON",
        _ => return Ok(false),
    };
    Err(MessageError::CloudEventForm { form })
}

fn envelope<T: DeserializeOwned>(message: &Message) -> Result<Envelope<T>, MessageError> {
    let envelope: Envelope<T> = json(message.payload())?;
    let version = envelope.specversion.as_deref();
    check_version(version.ok_or_else(|| lacks("specversion"))?)?;
    Ok(envelope)
}

fn check_version(version: &str) -> Result<(), MessageError> {
    if version.starts_with("1.") {
        return Ok(());
    }
    let form = "another specversion";
    Err(MessageError::CloudEventForm { form })
}

/// Says that the message lacks a required attribute.
pub(super) fn lacks(attribute: &str) -> MessageError {
    MessageError::NoId {
        part: Cow::Owned(format!("CloudEvents attribute `{attribute}`")),
    }
}

/// Returns an attribute from the headers, whatever its prefix.
fn header(message: &Message, attribute: &str) -> Result<Option<String>, MessageError> {
    let mut found: Option<String> = None;
    for prefix in PREFIXES {
        let Some(value) = message.header(&format!("{prefix}{attribute}"))? else {
            continue;
        };
        let value = if prefix == "ce-" {
            decoded(value)
        } else {
            value.to_owned()
        };
        if found.as_ref().is_some_and(|other| *other != value) {
            return Err(MessageError::Ambiguous {
                name: Cow::Owned(format!("CloudEvents attribute {attribute}")),
            });
        }
        found = Some(value);
    }
    Ok(found)
}

/// Undoes the encoding of a header's value: first a quoted string, then percent signs. Text that is not encoded UTF-8 stays
/// as it is, and is a key like another.
fn decoded(value: &str) -> String {
    let quoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    let plain = quoted.map_or_else(|| value.to_owned(), unescaped);
    percent_decode_str(&plain)
        .decode_utf8()
        .map_or_else(|_| plain.clone(), Cow::into_owned)
}

fn unescaped(quoted: &str) -> String {
    let mut text = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        text.push(if c == '\\' {
            chars.next().unwrap_or(c)
        } else {
            c
        });
    }
    text
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    // The decoder's own text may quote the payload.
    serde_json::from_slice(bytes).map_err(|error| MessageError::Decode {
        type_name: std::any::type_name::<T>(),
        path: match error.line() {
            0 => String::new(),
            line => format!(" at line {line}, column {}", error.column()),
        },
    })
}
