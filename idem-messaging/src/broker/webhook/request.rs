//! The headers of a request.

use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::endpoint::Endpoint;
use crate::broker::text::attribute_value;
use crate::outbox::{OutboxEvent, PublishError};

/// Headers that say how a message is framed, or for whom on the way it is (RFC 9110, sections 7.2 and 7.6.1). An event's own
/// header of such a name could make two requests of one.
const OF_THE_CONNECTION: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the headers of one attempt: the event's own, its attributes (CloudEvents HTTP binding 1.0.2, binary mode), and the
/// signature of this moment.
pub(super) fn headers(event: &OutboxEvent, endpoint: &Endpoint) -> Result<HeaderMap, PublishError> {
    let mut headers = HeaderMap::new();
    for (name, value) in event.headers() {
        if OF_THE_CONNECTION.contains(&name) {
            return Err(PublishError::permanent(format!(
                "the event's own header `{name}` is one that the HTTP client sets; nothing was sent"
            )));
        }
        insert(&mut headers, name, value)?;
    }
    for (name, value) in event.attributes() {
        insert(
            &mut headers,
            &format!("ce-{name}"),
            &attribute_value(&value),
        )?;
    }
    for (name, value) in [
        ("traceparent", event.traceparent()),
        ("tracestate", event.tracestate()),
    ] {
        if let Some(value) = value {
            insert(&mut headers, name, value)?;
        }
    }
    let id = event.id().as_str();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let timestamp = since.unwrap_or_default().as_secs();
    let signatures: Vec<_> = (endpoint.secrets.iter())
        .map(|secret| secret.sign(id, timestamp, event.payload()))
        .collect();
    for (name, value) in [
        ("content-type", event.content_type()),
        ("idempotency-key", id),
        ("webhook-id", id),
        ("webhook-timestamp", &timestamp.to_string()),
        ("webhook-signature", &signatures.join(" ")),
    ] {
        insert(&mut headers, name, value)?;
    }
    Ok(headers)
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), PublishError> {
    let refused = || {
        PublishError::permanent(format!(
            "header `{name}` cannot be sent by HTTP; nothing was sent"
        ))
    };
    let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
    let value = HeaderValue::from_str(value).map_err(|_| refused())?;
    headers.insert(header, value);
    Ok(())
}
