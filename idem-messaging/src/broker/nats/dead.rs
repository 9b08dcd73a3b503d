//! Dead letters. NATS has none of its own: a message is published to a subject, and that is confirmed, before the server is
//! told not to deliver it again.

use async_nats::header::{HeaderMap, HeaderName, HeaderValue};
use async_nats::jetstream;

use super::message::MESSAGE_ID;
use crate::broker::text;

/// What is said of a dead letter in its headers.
pub(super) struct DeadLetter<'a> {
    pub(super) reason: &'a str,
    pub(super) detail: &'a str,
    pub(super) attempts: u32,
    /// The attempt whose outcome is unknown, of a parked message.
    pub(super) attempt_id: Option<String>,
}

/// Publishes a message to `subject`, and waits for the acknowledgement. It is kept once, however often this is repeated
/// within the duplicate window of its stream.
pub(super) async fn publish(
    jetstream: &jetstream::Context,
    message: &jetstream::Message,
    info: &jetstream::message::Info<'_>,
    subject: String,
    letter: DeadLetter<'_>,
) -> Result<(), async_nats::Error> {
    let mut headers = HeaderMap::new();
    for (name, values) in message.headers.iter().flat_map(|headers| headers.iter()) {
        let own: &str = name.as_ref();
        if own.eq_ignore_ascii_case(MESSAGE_ID) {
            if let Some(id) = values.first() {
                headers.insert("idem-message-id", id.clone());
            }
        } else if !own.to_ascii_lowercase().starts_with("nats-") {
            // What begins so is an order to the server, and was meant for the first publication.
            for value in values {
                headers.append(name.clone(), value.clone());
            }
        }
    }
    let position = format!("{}.{}", info.stream, info.stream_sequence);
    let said = [
        (
            MESSAGE_ID,
            format!("idem-dead.{}.{position}.{}", info.consumer, letter.reason),
        ),
        ("idem-reason", letter.reason.to_owned()),
        ("idem-detail", text::header_value(letter.detail)),
        ("idem-attempts", letter.attempts.to_string()),
        ("idem-subject", message.subject.to_string()),
        ("idem-position", position),
    ];
    let attempt = letter.attempt_id.map(|id| ("idem-attempt-id", id));
    for (name, value) in said.into_iter().chain(attempt) {
        headers.insert(HeaderName::from_static(name), value.parse::<HeaderValue>()?);
    }
    let payload = message.payload.clone();
    let confirmed = jetstream.publish_with_headers(subject, headers, payload);
    confirmed.await?.await?;
    Ok(())
}
