//! The key of a call: from `params._meta`, or from the header of a request that is one call.

use std::borrow::Cow;
use std::sync::Arc;

use http::Extensions;
use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::http::Problem;
use idem_runtime::meta::{META, MetaNames};
use idem_runtime::{Error, IdempotencyKey, Scope};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::header::HeaderKey;
use crate::members::Members;
use crate::refusal::Refusal;

/// How a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// As a request of its own.
    Single,
    /// In a batch.
    InBatch,
    /// No layer has told.
    Unknown,
}

/// What a call says of its key, by whatever names: which they are, its method knows. It is among the call's extensions.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    meta: Result<Option<Arc<Map<String, Value>>>, Invalid>,
    position: Position,
}

impl Sent {
    /// Reads the parameters of a call.
    pub(crate) fn of(params: Option<&str>, position: Position) -> Self {
        Self {
            meta: meta_of(params).map(|meta| meta.map(Arc::new)),
            position,
        }
    }

    /// Returns the key by these names, of the call with these extensions.
    pub(crate) fn key(&self, extensions: &Extensions, names: &MetaNames) -> CallKey {
        let key = match &self.meta {
            Err(invalid) => Err(invalid.clone()),
            Ok(None) => Ok(None),
            Ok(Some(meta)) => names.key(meta),
        };
        CallKey(match key {
            Err(invalid) => Err(Fault::Invalid(invalid)),
            Ok(key) => with_header(key, extensions.get::<HeaderKey>(), self.position, names),
        })
    }
}

/// The key of one call, or why it has none that can be used.
#[derive(Debug, Clone)]
pub struct CallKey(Result<Option<IdempotencyKey>, Fault>);

#[derive(Debug, Clone)]
enum Fault {
    Invalid(Invalid),
    /// The only key is in a header that is not read.
    Unread,
    /// There is a header, and no layer that knows whether the call is alone.
    NoLayer,
}

impl CallKey {
    /// Returns whether the caller meant to send a key.
    pub(crate) fn is_meant(&self) -> bool {
        !matches!(self.0, Ok(None))
    }
}

/// Combines the key in `_meta` with that of the header.
fn with_header(
    key: Option<IdempotencyKey>,
    header: Option<&HeaderKey>,
    position: Position,
    names: &MetaNames,
) -> Result<Option<IdempotencyKey>, Fault> {
    let Some(header) = header else {
        return Ok(key);
    };
    match position {
        Position::Single => {}
        Position::InBatch => return Err(Fault::Invalid(HeaderKey::of_many_calls())),
        Position::Unknown => return Err(Fault::NoLayer),
    }
    match (header, key) {
        (HeaderKey::Refused(invalid), _) => Err(Fault::Invalid(invalid.clone())),
        (HeaderKey::Unread, None) => Err(Fault::Unread),
        (HeaderKey::Unread, key) => Ok(key),
        (HeaderKey::Read(header), None) => Ok(Some(header.clone())),
        (HeaderKey::Read(header), Some(key)) if *header == key => Ok(Some(key)),
        (HeaderKey::Read(_), Some(_)) => Err(Fault::Invalid(Invalid::new(
            Field::Member(names.idempotency_key().to_owned().into()),
            Reason::Differs {
                other: HeaderKey::NAME,
            },
        ))),
    }
}

/// Returns the `_meta` of parameters by name; `None` if there is none, and for parameters by position.
fn meta_of(params: Option<&str>) -> Result<Option<Map<String, Value>>, Invalid> {
    let Some(mut members) = params.and_then(Members::of) else {
        return Ok(None);
    };
    if members.repeats(META) {
        return Err(repeated());
    }
    let meta = members.remove(META);
    let Some(meta) = meta.filter(|meta| meta.get() != "null") else {
        return Ok(None);
    };
    let not_object = || Invalid::new(Field::Parameter(Cow::Borrowed(META)), Reason::NotObject);
    let inner = Members::of(meta.get()).ok_or_else(not_object)?;
    if inner.has_repeated() {
        return Err(repeated());
    }
    serde_json::from_str(meta.get()).map_err(|_| not_object())
}

fn repeated() -> Invalid {
    Invalid::new(Field::Parameter(Cow::Borrowed(META)), Reason::Repeated)
}

/// Returns the parameters without their `_meta`, which is no part of the request.
pub(crate) fn without_meta(params: &str) -> Option<Box<RawValue>> {
    let mut members = Members::of(params)?;
    members.remove(META)?;
    members.to_raw().ok()
}

/// Returns whether these are parameters by name without a member.
pub(crate) fn is_empty(params: &str) -> bool {
    Members::of(params).is_some_and(|members| members.0.is_empty())
}

/// Whether a method's calls have a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// A call without a key is refused.
    Required,
    /// A call without a key runs, without idempotency.
    Optional,
    /// The key is the request's own (`key = expr`), and a call brings no other.
    InRequest,
}

/// What a method's handler takes as its key: [`IdempotencyKey`], or `Option` of it, or `()` if the handler of the
/// operation finds the key in the request (`key = expr`).
///
/// The key has the [`Scope`] that is among the call's extensions, where a middleware for authentication has put it.
pub trait KeyArgument: sealed::FromKey + Send + 'static {
    /// Whether calls have a key.
    const PRESENCE: Presence;
}

mod sealed {
    use super::{CallKey, Error, Extensions, IdempotencyKey, checked, missing, scoped};

    pub trait FromKey: Sized {
        fn from_key(key: &CallKey, extensions: &Extensions, operation: &str)
        -> Result<Self, Error>;
    }

    impl FromKey for IdempotencyKey {
        fn from_key(
            key: &CallKey,
            extensions: &Extensions,
            operation: &str,
        ) -> Result<Self, Error> {
            let key = checked(key, operation)?.ok_or_else(|| missing(operation))?;
            Ok(scoped(key, extensions))
        }
    }

    impl FromKey for Option<IdempotencyKey> {
        fn from_key(
            key: &CallKey,
            extensions: &Extensions,
            operation: &str,
        ) -> Result<Self, Error> {
            let key = checked(key, operation)?;
            Ok(key.map(|key| scoped(key, extensions)))
        }
    }

    impl FromKey for () {
        fn from_key(_: &CallKey, _: &Extensions, _: &str) -> Result<Self, Error> {
            Ok(())
        }
    }
}

impl KeyArgument for IdempotencyKey {
    const PRESENCE: Presence = Presence::Required;
}

impl KeyArgument for Option<IdempotencyKey> {
    const PRESENCE: Presence = Presence::Optional;
}

impl KeyArgument for () {
    const PRESENCE: Presence = Presence::InRequest;
}

fn checked(key: &CallKey, operation: &str) -> Result<Option<IdempotencyKey>, Error> {
    match &key.0 {
        Ok(key) => Ok(key.clone()),
        Err(Fault::Invalid(invalid)) => Err(invalid.clone().into()),
        Err(Fault::Unread) => Err(missing(operation)),
        Err(Fault::NoLayer) => {
            tracing::error!(
                target: "idem",
                method = operation,
                "a call has the header Idempotency-Key, and the server has HeaderLayer without IdempotencyLayer"
            );
            Err(HeaderKey::of_many_calls().into())
        }
    }
}

fn missing(operation: &str) -> Error {
    Error::KeyMissing {
        operation: operation.to_owned().into(),
    }
}

/// A key without a scope is refused by the call; there is no default that all callers share.
fn scoped(key: IdempotencyKey, extensions: &Extensions) -> IdempotencyKey {
    match extensions.get::<Scope>() {
        Some(scope) => key.scoped(scope.clone()),
        None => key,
    }
}

/// Returns the argument for a handler of `operation`.
pub(crate) fn argument<K: KeyArgument>(
    key: &CallKey,
    extensions: &Extensions,
    operation: &str,
) -> Result<K, Error> {
    K::from_key(key, extensions, operation)
}

/// Returns the key of the call with these extensions, for a method that is not registered through a
/// [`Module`](crate::Module), such as those of jsonrpsee's attribute `#[rpc(server, with_extensions)]`. `method` is for the
/// refusal's text.
///
/// The server must have the [`IdempotencyLayer`](crate::IdempotencyLayer), which alone sees the parameters: without it every
/// call is refused, since one with a key could not be told from one without.
///
/// # Errors
/// A [`Refusal`] if there is no key and one is required, if it is not acceptable, or if the server has no layer.
pub fn key<K: KeyArgument>(
    extensions: &Extensions,
    method: &str,
    names: &MetaNames,
) -> Result<K, Refusal> {
    let Some(sent) = extensions.get::<Sent>() else {
        tracing::error!(
            target: "idem",
            method,
            "the server has no IdempotencyLayer, so whether a call has a key is not known"
        );
        let fault = "the server could not serve this request; its log says why";
        return Err(Problem::new("internal", "The server is at fault", 500_u16, fault).into());
    };
    let read = sent.key(extensions, names);
    argument(&read, extensions, method).map_err(|error| Refusal::of(&error, Some(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(extensions: &Extensions, names: &MetaNames) -> Result<Option<String>, String> {
        let key = key::<Option<IdempotencyKey>>(extensions, "m", names);
        key.map(|key| key.map(|key| key.as_str().to_owned()))
            .map_err(|refusal| refusal.problem().code.clone().into_owned())
    }

    #[test]
    fn without_the_layer_no_call_runs_as_one_without_a_key() {
        let refused = read(&Extensions::new(), &MetaNames::default());
        assert_eq!(refused, Err("internal".to_owned()));
    }

    #[test]
    fn a_method_reads_its_key_by_its_own_names() {
        let params = r#"{"_meta":{"a/idempotencyKey":"of a","b/idempotencyKey":"of b"}}"#;
        let mut extensions = Extensions::new();
        extensions.insert(Sent::of(Some(params), Position::Single));
        for (names, key) in [("a", Some("of a")), ("b", Some("of b")), ("c", None)] {
            let read = read(&extensions, &MetaNames::of(names));
            assert_eq!(read, Ok(key.map(str::to_owned)));
        }
    }
}
