//! Extracts the key from a request.

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::HeaderValue;
use http::request::Parts;

use super::request::KeyedRequest;
use crate::values::error::Error;
use crate::values::key::IdempotencyKey;

/// Extracts the request's key, with the scope from the request's extensions. The extensions may also hold
/// the [`Syntax`](super::Syntax) by which the header is read.
///
/// # Errors
/// Those of [`KeyedRequest::key`].
impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        keyed(parts).key()
    }
}

/// Extracts `None` only if no key was sent.
///
/// # Errors
/// Those of [`KeyedRequest::optional_key`].
impl<S: Send + Sync> OptionalFromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Error> {
        keyed(parts).optional_key()
    }
}

fn keyed<'p>(parts: &'p Parts) -> KeyedRequest<'p, impl Fn(&'static str) -> HeaderLines<'p>> {
    KeyedRequest {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        lines: |name| {
            let values = parts.headers.get_all(name).into_iter();
            values.map(HeaderValue::as_bytes as fn(&'p HeaderValue) -> &'p [u8])
        },
        syntax: parts.extensions.get().copied(),
        scope: parts.extensions.get(),
    }
}

/// The values of all lines of one header.
type HeaderLines<'p> =
    std::iter::Map<http::header::ValueIter<'p, HeaderValue>, fn(&'p HeaderValue) -> &'p [u8]>;
