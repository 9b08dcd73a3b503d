//! The request that is stored, and its limits.

use bytes::Bytes;
use http::{HeaderMap, Request, Uri, header};
use idem_messaging::outbox::{Event, Origin, OutboxError};
use idem_runtime::{IdempotencyKey, Namespace, Scope};

use super::error::{LedgerError, RequestField};
use crate::key::{IDEMPOTENCY_KEY, Key, KeyError};

/// Maximum length of a method, in bytes.
pub const METHOD_MAX: usize = 32;

/// Maximum length of an address, in bytes.
pub const URL_MAX: usize = 8 * 1024;

/// Maximum number of bytes of all header names and values together: 16 KiB.
pub const HEADERS_MAX: usize = 16 * 1024;

/// Maximum number of bytes of a body: 1 MiB.
pub const BODY_MAX: usize = 1024 * 1024;

/// Headers that are secrets, and do not belong in a table.
const CREDENTIALS: [header::HeaderName; 3] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::COOKIE,
];

/// A request as it is stored.
#[derive(Clone)]
pub struct StoredRequest {
    pub(super) id: String,
    pub(super) key: Key,
    pub(super) method: String,
    pub(super) url: String,
    /// A JSON array of pairs.
    pub(super) headers: String,
    pub(super) body: Bytes,
}

impl StoredRequest {
    /// Checks every part, and chooses the key: that of the header, or a new one. The event is the permission to send it.
    pub(super) fn new<B: Into<Bytes>>(request: Request<B>) -> Result<(Self, Event), LedgerError> {
        let (mut parts, body) = request.into_parts();
        if parts.method.is_safe() {
            let method = parts.method;
            return Err(KeyError::SafeMethod { method }.into());
        }
        let key = Key::of_headers(&parts.headers)?.unwrap_or_else(Key::random);
        parts.headers.remove(IDEMPOTENCY_KEY);
        let host = checked_host(&parts.uri)?;
        let event = event(&key, &host)?;
        let stored = Self {
            id: event.id().as_str().to_owned(),
            key,
            method: parts.method.to_string(),
            url: parts.uri.to_string(),
            headers: encoded(&parts.headers)?,
            body: body.into(),
        };
        bound(RequestField::Method, METHOD_MAX, stored.method.len())?;
        bound(RequestField::Url, URL_MAX, stored.url.len())?;
        bound(RequestField::Body, BODY_MAX, stored.body.len())?;
        Ok((stored, event))
    }
}

fn bound(field: RequestField, limit: usize, size: usize) -> Result<(), LedgerError> {
    if size > limit {
        return Err(LedgerError::TooLong { field, limit, size });
    }
    Ok(())
}

/// Returns host and port of an address to which a request can be sent.
fn checked_host(uri: &Uri) -> Result<String, LedgerError> {
    let field = RequestField::Url;
    let authority = uri.authority().ok_or(LedgerError::Form {
        field,
        rule: "has no host: write it with https:// and the host",
    })?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        let rule = "begins neither with http:// nor with https://";
        return Err(LedgerError::Form { field, rule });
    }
    if authority.as_str().contains('@') {
        let rule = "holds a user's name: give the credentials to the worker's client";
        return Err(LedgerError::Form { field, rule });
    }
    let host = authority.as_str().to_ascii_lowercase();
    // It is a topic of the queue, and an operation.
    bound(field, 255, host.len())?;
    Ok(host)
}

/// Makes the event of a request. Its id follows from key and host, so that it is the same in every process.
fn event(key: &Key, host: &str) -> Result<Event, LedgerError> {
    let unfit = |_| KeyError::Character { index: 0 };
    let key: IdempotencyKey = key.as_str().parse().map_err(unfit)?;
    let namespace = Namespace::from_static("idem-ledger");
    let built = Origin::new(namespace, Scope::GLOBAL, &key, host).and_then(|origin| {
        Event::builder(&origin, "request")
            .topic(host)
            .event_type("idem.ledger.request.v1")
            .build()
    });
    Ok(built.map_err(OutboxError::from)?)
}

/// Returns the headers as a JSON array of pairs.
fn encoded(headers: &HeaderMap) -> Result<String, LedgerError> {
    let field = RequestField::Headers;
    if CREDENTIALS.iter().any(|name| headers.contains_key(name)) {
        let rule =
            "hold credentials, which do not belong in a table: give them to the worker's client";
        return Err(LedgerError::Form { field, rule });
    }
    let mut pairs = Vec::with_capacity(headers.len());
    let mut size = 0;
    for (name, value) in headers {
        let value = value.to_str().map_err(|_| LedgerError::Form {
            field,
            rule: "hold something other than printable ASCII: encode it",
        })?;
        size += name.as_str().len() + value.len();
        pairs.push((name.as_str(), value));
    }
    bound(field, HEADERS_MAX, size)?;
    // Texts can always be serialized.
    Ok(serde_json::to_string(&pairs).unwrap_or_default())
}

#[cfg(test)]
mod tests;
