//! Decides which headers of a response are recorded.

use std::collections::HashSet;

use http::header::{CONNECTION, HeaderMap, HeaderName};

use super::media_type::latin_1;

/// The maximum total length of the recorded headers, names and values, in bytes.
pub(super) const HEADERS_LIMIT: usize = 64 * 1024;

/// Headers of one connection, which each sender sets itself (RFC 9110, section 7.6.1), and the layer's
/// own. They can never be recorded.
const CONNECTIONS: [&str; 12] = [
    "connection",
    "content-length",
    "http2-settings",
    "idempotent-replayed",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Headers that describe when, where or for which request a response was made.
const OF_THE_MOMENT: [&str; 20] = [
    "age",
    "alt-svc",
    "cache-status",
    "cf-ray",
    "date",
    "server",
    "server-timing",
    "traceparent",
    "traceresponse",
    "tracestate",
    "x-amz-cf-id",
    "x-amz-id-2",
    "x-cache",
    "x-cloud-trace-context",
    "x-process-time",
    "x-response-time",
    "x-runtime",
    "x-served-by",
    "x-timer",
    "x-trace",
];

/// Such headers by a part of their name: identifiers of one request, and quotas.
const PARTS_OF_THE_MOMENT: [&str; 9] = [
    "correlation-id",
    "quota",
    "rate-limit",
    "ratelimit",
    "request-id",
    "requestid",
    "span-id",
    "trace-id",
    "x-b3-",
];

/// Headers that give the client a secret or a session, by a word of their name. `Set-Cookie` is one of
/// them.
const SECRET_WORDS: [&str; 17] = [
    "apikey",
    "auth",
    "authentication",
    "authorization",
    "cookie",
    "cookie2",
    "csrf",
    "jwt",
    "nonce",
    "passwd",
    "password",
    "secret",
    "session",
    "sessionid",
    "token",
    "tokens",
    "xsrf",
];

/// The default rule, and the changes that the layer makes to it.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedHeaders {
    /// These headers replace those of the rule.
    pub(super) only: Option<HashSet<HeaderName>>,
    /// These are recorded in addition.
    pub(super) with: HashSet<HeaderName>,
    /// These are never recorded.
    pub(super) without: HashSet<HeaderName>,
}

/// A recorded header or trailer. Each byte of the value is stored as the character with its number.
pub(super) type StoredField = (String, String);

impl RecordedHeaders {
    fn has(&self, name: &HeaderName) -> bool {
        if CONNECTIONS.contains(&name.as_str()) || self.without.contains(name) {
            return false;
        }
        self.with.contains(name)
            || match &self.only {
                Some(only) => only.contains(name),
                None => belongs_to_the_result(name.as_str()),
            }
    }

    /// Returns the recorded ones of a response's headers or trailers, or `None` if they are longer than
    /// [`HEADERS_LIMIT`].
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Vec<StoredField>> {
        // `Connection` names further headers of the connection.
        let named: HashSet<String> = headers
            .get_all(CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
            .map(|name| latin_1(name.trim_ascii()).to_ascii_lowercase())
            .collect();
        let fields: Vec<_> = headers
            .iter()
            .filter(|(name, _)| self.has(name) && !named.contains(name.as_str()))
            .map(|(name, value)| (name.as_str().to_owned(), latin_1(value.as_bytes())))
            .collect();
        let length = fields
            .iter()
            .map(|(name, value)| name.len() + value.chars().count());
        (length.sum::<usize>() <= HEADERS_LIMIT).then_some(fields)
    }
}

/// The default rule: all headers except those above.
fn belongs_to_the_result(name: &str) -> bool {
    let of_the_moment =
        OF_THE_MOMENT.contains(&name) || PARTS_OF_THE_MOMENT.iter().any(|part| name.contains(part));
    let mut words = name.split(['-', '_']);
    let is_secret = words.any(|word| SECRET_WORDS.contains(&word)) || name.contains("api-key");
    !of_the_moment && !is_secret
}

#[cfg(test)]
mod tests;
