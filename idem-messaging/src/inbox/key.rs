//! Which parts of a message are its key.

use std::borrow::Cow;

use idem_runtime::IdempotencyKey;
use serde_json::Value;

use super::cloud_event;
use super::message::Message;
use super::refused::MessageError;

/// Says which parts of a message are its identity, and so the key of its handler.
///
/// The key is [`IdempotencyKey::derive`] over the parts, a digest with the length of each part before it, so that no two
/// lists of parts share one. It is in [`Scope::GLOBAL`](idem_runtime::Scope::GLOBAL), since a message's id is one for all
/// tenants; a handler whose ids are a tenant's own adds the tenant with [`and`](Self::and), or sets `scope = ..`.
///
/// There is no "this, or else that": a message whose id was lost on one of its ways would have two keys, and two effects.
///
/// ```
/// use idem_messaging::inbox::{Message, MessageKey};
///
/// let message = Message::new(br#"{"tenant":"acme","order":17}"#.as_slice());
/// let key = MessageKey::payload("/tenant").and(MessageKey::payload("/order"));
/// assert!(key.of(&message).is_ok());
/// assert_eq!(
///     MessageKey::broker_id().of(&message).unwrap_err().to_string(),
///     "the message has no id of the broker (`Nats-Msg-Id`, AMQP `message_id`), which its consumer takes for its identity; \
///      nothing was written; let the producer set it, or choose another `MessageKey`",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageKey {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    BrokerId,
    CloudEvent,
    WebhookId,
    Header(Cow<'static, str>),
    Payload(Cow<'static, str>),
    Position,
}

impl MessageKey {
    /// The id that the broker has for the message: `Nats-Msg-Id` of NATS, the property `message_id` of AMQP 0-9-1. The
    /// outbox sets both to the event's id.
    pub fn broker_id() -> Self {
        Self::of_part(Part::BrokerId)
    }

    /// `source` and `id` of a CloudEvent, which together are unique for each distinct event (CloudEvents 1.0.2, section
    /// 3.1.1), in binary or structured mode.
    pub fn cloud_event() -> Self {
        Self::of_part(Part::CloudEvent)
    }

    /// The header `webhook-id` of Standard Webhooks, which stays the same when a webhook is sent again.
    ///
    /// Anybody can send one: check the signature first, with the crate `standardwebhooks` for example.
    pub fn webhook_id() -> Self {
        Self::of_part(Part::WebhookId)
    }

    /// A header, by its name in any case.
    pub fn header(name: impl Into<Cow<'static, str>>) -> Self {
        Self::of_part(Part::Header(name.into()))
    }

    /// A field of the JSON payload, by its JSON pointer (RFC 6901), as in `/order/id`. It holds text or a whole number.
    pub fn payload(pointer: impl Into<Cow<'static, str>>) -> Self {
        Self::of_part(Part::Payload(pointer.into()))
    }

    /// The stream and the message's sequence number in it. Choose it only where the stream is the identity: a producer that
    /// publishes again, or a mirror, gives the same fact another place.
    pub fn stream_position() -> Self {
        Self::of_part(Part::Position)
    }

    /// Adds the parts of `other`. The order of the parts is a part of the key.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.parts.append(&mut other.parts);
        self
    }

    fn of_part(part: Part) -> Self {
        Self { parts: vec![part] }
    }

    /// Derives the key of a message.
    ///
    /// # Errors
    /// [`MessageError`] if the message lacks a part, a part is blank, is there twice, or is no text or whole number.
    pub fn of(&self, message: &Message) -> Result<IdempotencyKey, MessageError> {
        let mut texts = Vec::with_capacity(self.parts.len() + 1);
        for part in &self.parts {
            part.read(message, &mut texts)?;
        }
        // Every part was read and is not blank; nothing else is refused.
        IdempotencyKey::derive(texts).map_err(|_| MessageError::Blank {
            part: Cow::Borrowed("key"),
        })
    }

    /// Refuses a key that no message can have.
    pub(super) fn check(&self) -> Result<(), MessageError> {
        self.parts.iter().try_for_each(|part| match part {
            Part::Payload(pointer) if !pointer.is_empty() && !pointer.starts_with('/') => {
                Err(MessageError::NotPointer {
                    pointer: pointer.clone(),
                })
            }
            _ => Ok(()),
        })
    }
}

impl Part {
    /// Reads this part of a message into `texts`.
    fn read(&self, message: &Message, texts: &mut Vec<String>) -> Result<(), MessageError> {
        let mut add = |name: Cow<'static, str>, value: Option<String>| {
            let text = value.ok_or_else(|| MessageError::NoId { part: name.clone() })?;
            if text.trim().is_empty() {
                return Err(MessageError::Blank { part: name });
            }
            texts.push(text);
            Ok(())
        };
        match self {
            Self::BrokerId => {
                let id = message.broker_id().map(ToOwned::to_owned);
                add(
                    "id of the broker (`Nats-Msg-Id`, AMQP `message_id`)".into(),
                    id,
                )
            }
            Self::CloudEvent => {
                let found = cloud_event::attributes(message)?;
                let found = found.ok_or_else(|| cloud_event::lacks("specversion"))?;
                add("CloudEvents attribute `source`".into(), found.source)?;
                add("CloudEvents attribute `id`".into(), found.id)
            }
            Self::WebhookId => {
                let id = message.header("webhook-id")?.map(ToOwned::to_owned);
                add("header `webhook-id`".into(), id)
            }
            Self::Header(name) => {
                let value = message.header(name)?.map(ToOwned::to_owned);
                add(format!("header `{name}`").into(), value)
            }
            Self::Payload(pointer) => {
                let value = field(message.payload(), pointer)?;
                add(format!("payload field `{pointer}`").into(), value)
            }
            Self::Position => {
                let position = message.position();
                let (stream, sequence) = position.map_or((None, None), |(stream, sequence)| {
                    (Some(stream.to_owned()), Some(sequence.to_string()))
                });
                add("stream".into(), stream)?;
                add("sequence number in its stream".into(), sequence)
            }
        }
    }
}

/// Returns a field of a JSON payload as text, or `None` if it is absent or null.
fn field(payload: &[u8], pointer: &str) -> Result<Option<String>, MessageError> {
    let payload: Value =
        serde_json::from_slice(payload).map_err(|error| MessageError::Payload {
            expected: "JSON",
            message: format!("line {}, column {}", error.line(), error.column()),
        })?;
    let found = match payload.pointer(pointer) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => return Ok(Some(text.clone())),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
            return Ok(Some(number.to_string()));
        }
        Some(Value::Number(_)) => "a number with a fraction or beyond 64 bits",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    };
    Err(MessageError::NotKeyPart {
        pointer: Cow::Owned(pointer.to_owned()),
        found,
    })
}
