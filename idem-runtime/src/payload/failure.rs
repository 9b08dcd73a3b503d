//! What `#[derive(Failure)]` calls: from an error to its stored form and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::hides_a_number;
use crate::failure::StoredFailure;
use crate::failure::given_up::is_given_up;
use crate::fingerprint::{canonical_json, canonical_text};

/// An error whose message and cause can be stored: any [`std::error::Error`].
#[diagnostic::on_unimplemented(
    message = "a permanent `{Self}` is recorded with its message and cause, and it does not implement `std::error::Error`",
    label = "with thiserror: `#[derive(Debug, thiserror::Error)]`, and `#[error(\"…\")]` above each variant"
)]
pub trait Described {
    #[doc(hidden)]
    fn description(&self) -> Description;
}

impl<E: std::error::Error> Described for E {
    fn description(&self) -> Description {
        Description {
            message: self.to_string(),
            cause: self.source().map(ToString::to_string),
            given_up: self.source().is_some_and(is_given_up),
        }
    }
}

/// The texts of an error on their way into the record.
pub struct Description {
    message: String,
    cause: Option<String>,
    given_up: bool,
}

/// What the error says of itself.
pub fn described<E: Described>(error: &E) -> Description {
    error.description()
}

impl Description {
    /// The whole failure.
    pub fn failure(self, class: &str, data: Value) -> StoredFailure {
        StoredFailure {
            class: class.to_owned(),
            message: self.message,
            cause: self.cause,
            data: Box::new(data),
            given_up: self.given_up,
        }
    }
}

/// The name under which the JSON text of a field stands for it, where a [`Value`] would not hold it as
/// it is: an integer beyond 64 bits.
const TEXT: &str = "$json";

/// A field of a permanent variant: anything `Serialize` and `DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "a field of a permanent failure is recorded and read back, and `{Self}` is not both `Serialize` and `DeserializeOwned`",
    label = "add `#[derive(serde::Serialize, serde::Deserialize)]`, or keep in the field what a retry needs of it"
)]
pub trait FailureField: Sized {
    #[doc(hidden)]
    fn encode(&self) -> Option<Value>;
    #[doc(hidden)]
    fn decode(value: &Value) -> Option<Self>;
}

impl<T: Serialize + DeserializeOwned> FailureField for T {
    fn encode(&self) -> Option<Value> {
        let text = serde_json::to_string(self).ok()?;
        if hides_a_number(self, &text) {
            return None;
        }
        let value = serde_json::from_str(&text);
        let exact = value.ok().filter(|value| is_all_of(value, &text));
        Some(exact.unwrap_or_else(|| Value::from_iter([(TEXT, text)])))
    }

    fn decode(value: &Value) -> Option<Self> {
        match text_of(value) {
            Some(text) => serde_json::from_str(text.as_str()?).ok(),
            None => T::deserialize(value).ok(),
        }
    }
}

/// Whether a value holds all that its text says, and will not be taken for a text itself.
fn is_all_of(value: &Value, text: &str) -> bool {
    let holds = match (canonical_text(text.as_bytes()), canonical_json(value)) {
        (Ok(text), Ok(value)) => text == value,
        _ => false,
    };
    holds && text_of(value).is_none()
}

/// What stands in the place of a field, if it is its text.
fn text_of(value: &Value) -> Option<&Value> {
    value
        .as_object()
        .filter(|members| members.len() == 1)
        .and_then(|members| members.get(TEXT))
}

/// The two ways of a field's type, asked for once.
pub struct Field<T> {
    encode: fn(&T) -> Option<Value>,
    decode: fn(&Value) -> Option<T>,
}

/// The field of this type.
pub fn field<T: FailureField>() -> Field<T> {
    Field {
        encode: T::encode,
        decode: T::decode,
    }
}

impl<T> Field<T> {
    /// The field as JSON, if it can be that.
    pub fn encode(self, value: &T) -> Option<Value> {
        (self.encode)(value)
    }

    /// The field of this name; one that is absent is read as `null`.
    pub fn named(self, failure: &StoredFailure, name: &str) -> Option<T> {
        let fields = failure.data.as_object()?;
        (self.decode)(fields.get(name).unwrap_or(&Value::Null))
    }

    /// The field at this place, likewise.
    pub fn listed(self, failure: &StoredFailure, place: usize) -> Option<T> {
        let fields = failure.data.as_array()?;
        (self.decode)(fields.get(place).unwrap_or(&Value::Null))
    }
}

/// Whether two values of an enum are of one variant.
pub fn same_variant<E>(one: &E, other: &E) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// The fields under their names. If one of them cannot be JSON, the failure has none, and would come
/// back with its message alone: it is not recorded.
pub fn named<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields
        .into_iter()
        .map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Option<_>>()
        .map_or(Value::Null, Value::Object)
}

/// The fields in their order, likewise.
pub fn listed<const N: usize>(fields: [Option<Value>; N]) -> Value {
    fields
        .into_iter()
        .collect::<Option<_>>()
        .map_or(Value::Null, Value::Array)
}

/// What the variant for replayed failures holds: a [`StoredFailure`], boxed or not.
#[diagnostic::on_unimplemented(
    message = "the variant for replayed failures holds what was stored, and `{Self}` is no `StoredFailure`",
    label = "write `idem_runtime::StoredFailure`, or a `Box` of it"
)]
pub trait HoldsStored: Sized {
    #[doc(hidden)]
    fn stored(&self) -> StoredFailure;
    #[doc(hidden)]
    fn held(failure: StoredFailure) -> Self;
}

impl HoldsStored for StoredFailure {
    fn stored(&self) -> StoredFailure {
        self.clone()
    }

    fn held(failure: StoredFailure) -> Self {
        failure
    }
}

impl HoldsStored for Box<StoredFailure> {
    fn stored(&self) -> StoredFailure {
        (**self).clone()
    }

    fn held(failure: StoredFailure) -> Self {
        Self::new(failure)
    }
}

/// The two ways of what the variant holds, asked for once.
pub struct Replays<T> {
    stored: fn(&T) -> StoredFailure,
    held: fn(StoredFailure) -> T,
}

/// What the variant of this type holds.
pub fn replayed<T: HoldsStored>() -> Replays<T> {
    Replays {
        stored: T::stored,
        held: T::held,
    }
}

impl<T> Replays<T> {
    /// The failure that is held.
    pub fn stored(self, held: &T) -> StoredFailure {
        (self.stored)(held)
    }

    /// The failure to hold.
    pub fn held(self, failure: StoredFailure) -> T {
        (self.held)(failure)
    }
}
