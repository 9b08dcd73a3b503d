//! Reads the key from a request's headers, by [the rules of the library](idem_runtime::http::header).

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use idem_runtime::error::Invalid;
use idem_runtime::http::KeyedRequest;
use idem_runtime::http::header as rules;
pub use idem_runtime::http::header::Syntax;
use idem_runtime::{Error, IdempotencyKey, Scope};

/// `Idempotency-Key`, the name in the IETF draft.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(rules::IDEMPOTENCY_KEY);

/// `X-Idempotency-Key`, an older name.
pub const X_IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(rules::X_IDEMPOTENCY_KEY);

/// `Idempotent-Replayed`: `true` on a response that is a replay.
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static(rules::IDEMPOTENT_REPLAYED);

/// Returns the key of these headers, or `None` if there is none.
///
/// ```
/// use http::HeaderMap;
/// use idem_tower::{Syntax, header};
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

/// Returns the key of a request, with the [`Scope`] and by the [`Syntax`] in its extensions.
///
/// ```
/// use http::Request;
/// use idem_runtime::Scope;
/// use idem_tower::header;
///
/// let request = Request::post("/orders").header("idempotency-key", "\"8e03978e\"");
/// // Stands for your authentication, which sets the scope of the request.
/// let request = request.extension(Scope::new("acme")?).body(())?;
/// let (parts, ()) = request.into_parts();
/// assert_eq!(header::required(&parts)?.as_str(), "8e03978e");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`KeyedRequest::key`].
pub fn required(parts: &Parts) -> Result<IdempotencyKey, Error> {
    keyed(parts, parts.extensions.get()).key()
}

/// Returns the key of a request as [`required`] does, or `None` only if none was sent.
///
/// # Errors
/// Those of [`KeyedRequest::optional_key`].
pub fn optional(parts: &Parts) -> Result<Option<IdempotencyKey>, Error> {
    keyed(parts, parts.extensions.get()).optional_key()
}

/// Returns what of a request says which key it has, in this scope.
pub(crate) fn keyed<'p>(
    parts: &'p Parts,
    scope: Option<&'p Scope>,
) -> KeyedRequest<'p, impl Fn(&'static str) -> HeaderLines<'p>> {
    KeyedRequest {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        lines: |name| lines(&parts.headers, name),
        syntax: parts.extensions.get().copied(),
        scope,
    }
}

/// The values of all lines of one header.
type HeaderLines<'h> =
    std::iter::Map<http::header::ValueIter<'h, HeaderValue>, fn(&'h HeaderValue) -> &'h [u8]>;

fn lines<'h>(headers: &'h HeaderMap, name: &'static str) -> HeaderLines<'h> {
    let values = headers.get_all(name).into_iter();
    values.map(HeaderValue::as_bytes as fn(&'h HeaderValue) -> &'h [u8])
}
