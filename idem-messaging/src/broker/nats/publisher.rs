//! Publishes the events of an outbox.

use async_nats::HeaderMap;
use async_nats::connection::State;
use async_nats::header::{HeaderName, HeaderValue};
use async_nats::jetstream::{self, context::PublishErrorKind as Kind};

use super::original::MESSAGE_ID;
use crate::broker::text::attribute_value;
use crate::outbox::{OutboxEvent, PublishError, Publisher};

/// Publishes events to JetStream. The topic is the subject; a stream must be bound to it.
///
/// An event is a CloudEvent in binary mode (headers `ce-..`), and `Nats-Msg-Id` is its id: within the stream's duplicate
/// window the server keeps it once, however often it is published. `traceparent` and the event's own headers are headers
/// too.
///
/// ```no_run
/// use idem_messaging::broker::nats::NatsPublisher;
///
/// # async fn publisher() -> Result<NatsPublisher, Box<dyn std::error::Error>> {
/// let client = async_nats::connect("nats://localhost").await?;
/// Ok(NatsPublisher::new(async_nats::jetstream::new(client)))
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NatsPublisher {
    jetstream: jetstream::Context,
}

impl NatsPublisher {
    /// Creates a publisher over a connection, which the client restores by itself.
    pub fn new(jetstream: jetstream::Context) -> Self {
        Self { jetstream }
    }
}

impl Publisher for NatsPublisher {
    /// Publishes an event, and returns `Ok` after JetStream has acknowledged it.
    ///
    /// # Errors
    /// Permanent if the topic is no subject, or if the event is larger than the server's `max_payload`. Unavailable if there
    /// is no connection, or no answer in time. Otherwise to be tried again, for example because no stream is bound to the
    /// subject or the stream is full.
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        check_subject(event.topic())?;
        let client = self.jetstream.client();
        if client.connection_state() != State::Connected {
            return Err(PublishError::unavailable(
                "there is no connection to NATS; nothing was sent",
            ));
        }
        let headers = headers(event)?;
        let payload = event.payload().to_vec().into();
        let subject = event.topic().to_owned();
        let sent = self
            .jetstream
            .publish_with_headers(subject, headers, payload);
        let confirmed = match sent.await {
            Ok(confirmed) => confirmed.await,
            Err(error) => Err(error),
        };
        confirmed.map(drop).map_err(|error| match error.kind() {
            Kind::MaxPayloadExceeded => PublishError::permanent(error),
            Kind::TimedOut | Kind::BrokenPipe | Kind::MaxAckPending => {
                PublishError::unavailable(error)
            }
            _ => PublishError::retry(error),
        })
    }
}

fn check_subject(subject: &str) -> Result<(), PublishError> {
    let good = |token: &str| !token.is_empty() && token != "*" && token != ">";
    if subject.split('.').all(good) {
        return Ok(());
    }
    Err(PublishError::permanent(format!(
        "topic `{subject}` is no subject of NATS to publish to: it has an empty token or a wildcard; nothing was sent"
    )))
}

fn headers(event: &OutboxEvent) -> Result<HeaderMap, PublishError> {
    let mut headers = HeaderMap::new();
    let mut insert = |name: &str, value: &str| -> Result<(), PublishError> {
        let refused = || {
            PublishError::permanent(format!(
                "header `{name}` cannot be sent by NATS; nothing was sent"
            ))
        };
        let name = name.parse::<HeaderName>().map_err(|_| refused())?;
        let value = value.parse::<HeaderValue>().map_err(|_| refused())?;
        headers.insert(name, value);
        Ok(())
    };
    for (name, value) in event.headers() {
        insert(name, value)?;
    }
    for (name, value) in event.attributes() {
        insert(&format!("ce-{name}"), &attribute_value(&value))?;
    }
    for (name, value) in [
        ("traceparent", event.traceparent()),
        ("tracestate", event.tracestate()),
    ] {
        if let Some(value) = value {
            insert(name, value)?;
        }
    }
    insert("content-type", event.content_type())?;
    insert(MESSAGE_ID, event.id().as_str())?;
    Ok(headers)
}
