//! Reads the key from a request's headers, by [the rules of the library](idem_runtime::http::header).

use http::header::{HeaderMap, HeaderName, HeaderValue};
use idem_runtime::IdempotencyKey;
use idem_runtime::error::Invalid;
use idem_runtime::http::header as rules;
pub use idem_runtime::http::header::Syntax;

/// `Idempotency-Key`, the name in the IETF draft.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(rules::IDEMPOTENCY_KEY);

/// `X-Idempotency-Key`, an older name.
pub const X_IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(rules::X_IDEMPOTENCY_KEY);

/// `Idempotent-Replayed`: `true` on a response that is a replay.
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static(rules::IDEMPOTENT_REPLAYED);

/// Returns the key of these headers, or `None` if there is none.
///
/// ```
/// use axum::http::HeaderMap;
/// use idem_axum::{Syntax, header};
///
/// let mut quoted = HeaderMap::new();
/// quoted.insert("idempotency-key", r#""8e03978e-40d5""#.parse().unwrap());
/// let mut bare = HeaderMap::new();
/// bare.insert("x-idempotency-key", "8e03978e-40d5".parse().unwrap());
///
/// let key = header::key(&quoted, Syntax::Strict)?.expect("a key");
/// assert_eq!(key.as_str(), "8e03978e-40d5");
/// assert_eq!(header::key(&bare, Syntax::Lenient)?, Some(key));
/// # Ok::<_, idem_runtime::error::Invalid>(())
/// ```
///
/// # Errors
/// Returns [`Invalid`] as [`idem_runtime::http::header::key`] does.
pub fn key(headers: &HeaderMap, syntax: Syntax) -> Result<Option<IdempotencyKey>, Invalid> {
    rules::key(|name| lines(headers, name), syntax)
}

/// Returns whether the headers hold a key under a name that is not read.
pub(crate) fn has_unread(headers: &HeaderMap) -> bool {
    rules::has_unread(|name| lines(headers, name))
}

fn lines<'h>(headers: &'h HeaderMap, name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    let values = headers.get_all(name);
    values.into_iter().map(HeaderValue::as_bytes)
}
