//! Dead letters. NATS has none of its own: a message is published to a subject, and that is confirmed, before the server is
//! told not to deliver it again.

use async_nats::header::{HeaderName, HeaderValue};
use async_nats::jetstream;

use super::original::{
    ASIDE_ATTEMPT_ID, ASIDE_ATTEMPTS, ASIDE_DETAIL, ASIDE_ID, ASIDE_POSITION, ASIDE_REASON,
    ASIDE_SUBJECT, MESSAGE_ID, Original,
};
use crate::broker::text;

/// What is said of a dead letter in its headers.
pub(super) struct DeadLetter {
    pub(super) reason: &'static str,
    pub(super) detail: String,
    pub(super) attempts: u32,
    /// The attempt whose outcome is unknown, of a parked message.
    pub(super) attempt_id: Option<String>,
}

/// Publishes a message of a consumer to `subject`, and waits for the acknowledgement. It is kept once, however often this is
/// repeated within the duplicate window of its stream.
pub(super) async fn publish(
    jetstream: &jetstream::Context,
    message: &jetstream::Message,
    original: &Original,
    consumer: &str,
    subject: String,
    letter: DeadLetter,
) -> Result<(), async_nats::Error> {
    let mut headers = original.headers_aside();
    if let Some(id) = original.id() {
        headers.insert(ASIDE_ID, id.clone());
    }
    let position = format!("{}.{}", original.stream, original.sequence);
    let mut id = format!("idem-dead.{consumer}.{position}.{}", letter.reason);
    if let Some(attempt) = &letter.attempt_id {
        // It may be parked a second time, for another attempt.
        id = format!("{id}.{attempt}");
    }
    let said = [
        (MESSAGE_ID, id),
        (ASIDE_REASON, letter.reason.to_owned()),
        (ASIDE_DETAIL, text::header_value(&letter.detail)),
        (ASIDE_ATTEMPTS, letter.attempts.to_string()),
        (ASIDE_SUBJECT, original.subject.clone()),
        (ASIDE_POSITION, position),
    ];
    let attempt = letter.attempt_id.map(|id| (ASIDE_ATTEMPT_ID, id));
    for (name, value) in said.into_iter().chain(attempt) {
        headers.insert(HeaderName::from_static(name), value.parse::<HeaderValue>()?);
    }
    let payload = message.payload.clone();
    let confirmed = jetstream.publish_with_headers(subject, headers, payload);
    confirmed.await?.await?;
    Ok(())
}
