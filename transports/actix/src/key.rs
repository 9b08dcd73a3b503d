//! Extracts the key from a request.

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderValue;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use idem_runtime::http::{KeyedRequest, Syntax};
use idem_runtime::{Error, IdempotencyKey, Scope};

use crate::response::Refusal;

/// The request's key, with the [`Scope`] from the request's extensions. They may also hold the [`Syntax`] by which the
/// header is read, which a [`Policy`](crate::Policy) sets.
///
/// It derefs to the [`IdempotencyKey`]: pass `&key` to a handler. **Do not extract `Option<Key>`**: actix makes `None` of
/// every refusal, and a request with an invalid key would run without protection. [`OptionalKey`] refuses it.
///
/// # Errors
/// Those of [`KeyedRequest::key`], as a [`Refusal`]: 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(pub IdempotencyKey);

impl Deref for Key {
    type Target = IdempotencyKey;

    fn deref(&self) -> &IdempotencyKey {
        &self.0
    }
}

impl FromRequest for Key {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request, |keyed| keyed.key().map(Self)))
    }
}

/// The request's key as [`Key`], or `None` only if none was sent.
///
/// # Errors
/// Those of [`KeyedRequest::optional_key`], as a [`Refusal`]: 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionalKey(pub Option<IdempotencyKey>);

impl FromRequest for OptionalKey {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request, |keyed| keyed.optional_key().map(Self)))
    }
}

/// The lines of a header of this request.
type LinesOf<'r> = &'r dyn Fn(&'static str) -> Vec<&'r [u8]>;

fn read<T>(
    request: &HttpRequest,
    read: impl FnOnce(KeyedRequest<'_, LinesOf<'_>>) -> Result<T, Error>,
) -> Result<T, Refusal> {
    let extensions = request.extensions();
    let lines = |name| {
        let values = request.headers().get_all(name);
        values.map(HeaderValue::as_bytes).collect()
    };
    let keyed = KeyedRequest {
        method: request.method().as_str(),
        path: request.path(),
        lines: &lines as LinesOf<'_>,
        syntax: extensions.get::<Syntax>().copied(),
        scope: extensions.get::<Scope>(),
    };
    Ok(read(keyed)?)
}
