//! The message as the inbox sees it, and what the adapter adds to its headers.

use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable, ShortString};

use crate::inbox::{Message, Verdict};

/// The header with the number of attempts that a message has used up.
const ATTEMPTS: &str = "x-idem-attempts";

/// The header with the routing key of the first delivery: on its way through the ladder a message has others.
const TOPIC: &str = "x-idem-topic";

/// The headers that say why a message was set aside.
pub(super) const REASON: &str = "x-idem-reason";
pub(super) const DETAIL: &str = "x-idem-detail";
pub(super) const ATTEMPT_ID: &str = "x-idem-attempt-id";

/// Sets a property of text.
type Copy = fn(BasicProperties, ShortString) -> BasicProperties;

/// Reads a delivery. Texts, whole numbers and booleans are headers; tables and lists, such as `x-death`, are left out.
pub(super) fn read(delivery: &Delivery) -> Message {
    let properties = &delivery.properties;
    let mut read = Message::new(delivery.data.as_slice()).with_topic(topic(delivery));
    if let Some(id) = properties.message_id() {
        read = read.with_broker_id(id.as_str());
    }
    if let Some(event_type) = properties.kind() {
        read = read.with_event_type(event_type.as_str());
    }
    if let Some(content_type) = properties.content_type() {
        read = read.with_content_type(content_type.as_str());
    }
    for (name, value) in headers(properties) {
        if let Some(value) = text(value) {
            read = read.with_header(name.as_str(), value);
        }
    }
    read
}

/// Returns how many attempts the message has used up.
pub(super) fn attempts(delivery: &Delivery) -> u32 {
    let value = headers(&delivery.properties).find(|(name, _)| name.as_str() == ATTEMPTS);
    let number = value.and_then(|(_, value)| text(value)?.parse().ok());
    number.unwrap_or_default()
}

/// Returns whether the message comes from the parking place.
pub(super) fn was_parked(delivery: &Delivery) -> bool {
    let mut headers = headers(&delivery.properties);
    let reason = headers.find(|(name, _)| name.as_str() == REASON);
    reason.and_then(|(_, value)| text(value)).as_deref() == Some(Verdict::OUTCOME_UNKNOWN)
}

/// Returns the properties with which a message is published again: its own, with more headers in the place of what was said
/// of it before.
pub(super) fn again(
    delivery: &Delivery,
    attempts: u32,
    more: impl IntoIterator<Item = (&'static str, String)>,
) -> BasicProperties {
    let own = &delivery.properties;
    let mut headers = FieldTable::default();
    for (name, value) in self::headers(own) {
        if ![REASON, DETAIL, ATTEMPT_ID].contains(&name.as_str()) {
            headers.insert(name.clone(), value.clone());
        }
    }
    headers.insert(ATTEMPTS.into(), AMQPValue::LongLongInt(attempts.into()));
    let topic = (TOPIC, topic(delivery));
    for (name, value) in std::iter::once(topic).chain(more) {
        headers.insert(name.into(), AMQPValue::LongString(value.into()));
    }
    // Two properties stay behind: with an expiration of its own a dead letter would vanish, and the broker refuses a user
    // who is not the one of this connection.
    let again = BasicProperties::default()
        .with_headers(headers)
        // Persistent.
        .with_delivery_mode(2);
    let texts: [(&Option<ShortString>, Copy); 7] = [
        (own.message_id(), BasicProperties::with_message_id),
        (own.kind(), BasicProperties::with_type),
        (own.content_type(), BasicProperties::with_content_type),
        (
            own.content_encoding(),
            BasicProperties::with_content_encoding,
        ),
        (own.correlation_id(), BasicProperties::with_correlation_id),
        (own.reply_to(), BasicProperties::with_reply_to),
        (own.app_id(), BasicProperties::with_app_id),
    ];
    let again = texts.into_iter().fold(again, |again, (text, copy)| {
        text.clone().map_or(again.clone(), |text| copy(again, text))
    });
    match *own.timestamp() {
        Some(timestamp) => again.with_timestamp(timestamp),
        None => again,
    }
}

fn topic(delivery: &Delivery) -> String {
    let kept = headers(&delivery.properties).find(|(name, _)| name.as_str() == TOPIC);
    kept.and_then(|(_, value)| text(value))
        .unwrap_or_else(|| delivery.routing_key.to_string())
}

fn headers(properties: &BasicProperties) -> impl Iterator<Item = (&ShortString, &AMQPValue)> {
    let table = properties.headers().as_ref().map(FieldTable::inner);
    table.into_iter().flatten()
}

fn text(value: &AMQPValue) -> Option<String> {
    Some(match value {
        AMQPValue::LongString(text) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        AMQPValue::ShortString(text) => text.to_string(),
        AMQPValue::Boolean(flag) => flag.to_string(),
        AMQPValue::ShortShortInt(number) => number.to_string(),
        AMQPValue::ShortShortUInt(number) => number.to_string(),
        AMQPValue::ShortInt(number) => number.to_string(),
        AMQPValue::ShortUInt(number) => number.to_string(),
        AMQPValue::LongInt(number) => number.to_string(),
        AMQPValue::LongUInt(number) => number.to_string(),
        AMQPValue::LongLongInt(number) => number.to_string(),
        _ => return None,
    })
}
