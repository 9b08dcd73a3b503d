//! Extracts the key from a request.

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::HeaderValue;
use http::request::Parts;

use super::header::{self, Syntax};
use crate::values::error::Error;
use crate::values::key::{IdempotencyKey, Scope};

/// Extracts the request's key, with the scope from the request's extensions. The extensions may also hold
/// the [`Syntax`] by which the header is read.
///
/// # Errors
/// [`Error::KeyMissing`] if there is no key, [`Error::Invalid`] if it breaks a rule of
/// [`header`]; both are 400, as in the IETF draft (section 2.7).
impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        key(parts)?.ok_or_else(|| missing(parts))
    }
}

/// Extracts `None` only if no key was sent. An invalid key is refused: without it the call would not be
/// safe to retry.
///
/// # Errors
/// [`Error::Invalid`]; [`Error::KeyMissing`] if the only key has a name that is not read
/// (`X-Idempotency-Key`, under [`Syntax::Strict`]).
impl<S: Send + Sync> OptionalFromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Error> {
        match key(parts)? {
            None if header::has_unread(|name| lines(parts, name)) => Err(missing(parts)),
            key => Ok(key),
        }
    }
}

fn missing(parts: &Parts) -> Error {
    Error::KeyMissing {
        operation: format!("{} {}", parts.method, parts.uri.path()).into(),
    }
}

fn key(parts: &Parts) -> Result<Option<IdempotencyKey>, Error> {
    let syntax = parts.extensions.get::<Syntax>().copied();
    let key = header::key(|name| lines(parts, name), syntax.unwrap_or_default())?;
    // A key without a scope is refused by the call; there is no default that all callers share.
    Ok(match (key, parts.extensions.get::<Scope>()) {
        (Some(key), Some(scope)) => Some(key.scoped(scope.clone())),
        (key, _) => key,
    })
}

/// Returns the values of all lines of one header.
fn lines<'p>(parts: &'p Parts, name: &'static str) -> impl Iterator<Item = &'p [u8]> {
    let values = parts.headers.get_all(name);
    values.into_iter().map(HeaderValue::as_bytes)
}
