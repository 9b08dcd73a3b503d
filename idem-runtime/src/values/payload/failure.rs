//! The functions that `#[derive(Failure)]` calls to convert an error to its stored form and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::hides_a_number;
use crate::values::failure::StoredFailure;
use crate::values::failure::given_up::is_given_up;
use crate::values::fingerprint::{canonical_json, canonical_text};

/// An error whose message and cause can be stored. Implemented for every [`std::error::Error`].
#[diagnostic::on_unimplemented(
    message = "a permanent `{Self}` is recorded with its message and cause, but it does not implement `std::error::Error`",
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

/// The texts of an error that the record will hold.
pub struct Description {
    message: String,
    cause: Option<String>,
    given_up: bool,
}

/// Returns the message and the cause of an error.
pub fn described<E: Described>(error: &E) -> Description {
    error.description()
}

impl Description {
    /// Adds the class and the fields to the texts.
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

/// The member name of an object that holds the JSON text of a field. It is used if a [`Value`]
/// would not hold the field exactly, such as an integer beyond 64 bits.
const TEXT: &str = "$json";

/// A field of a permanent variant. Implemented for every type that is `Serialize` and
/// `DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "a field of a permanent failure is recorded and decoded, but `{Self}` is not both `Serialize` and `DeserializeOwned`",
    label = "add `#[derive(serde::Serialize, serde::Deserialize)]`, or store in the field only what a retry needs"
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

/// Returns whether a value is equal to its JSON text and would not be mistaken for an object that
/// holds JSON text.
fn is_all_of(value: &Value, text: &str) -> bool {
    let holds = match (canonical_text(text.as_bytes()), canonical_json(value)) {
        (Ok(text), Ok(value)) => text == value,
        _ => false,
    };
    holds && text_of(value).is_none()
}

/// Returns the JSON text of a field if the value holds the field as text.
fn text_of(value: &Value) -> Option<&Value> {
    value
        .as_object()
        .filter(|members| members.len() == 1)
        .and_then(|members| members.get(TEXT))
}

/// The encoder and the decoder of a field's type.
pub struct FieldCodec<T> {
    encode: fn(&T) -> Option<Value>,
    decode: fn(&Value) -> Option<T>,
}

/// Returns the encoder and the decoder of a field's type.
pub fn field<T: FailureField>() -> FieldCodec<T> {
    FieldCodec {
        encode: T::encode,
        decode: T::decode,
    }
}

impl<T> FieldCodec<T> {
    /// Encodes the field. Returns `None` if JSON cannot represent it.
    pub fn encode(self, value: &T) -> Option<Value> {
        (self.encode)(value)
    }

    /// Decodes the field of this name. An absent field is decoded from `null`.
    pub fn named(self, failure: &StoredFailure, name: &str) -> Option<T> {
        let fields = failure.data.as_object()?;
        (self.decode)(fields.get(name).unwrap_or(&Value::Null))
    }

    /// Decodes the field at this index. An absent field is decoded from `null`.
    pub fn listed(self, failure: &StoredFailure, index: usize) -> Option<T> {
        let fields = failure.data.as_array()?;
        (self.decode)(fields.get(index).unwrap_or(&Value::Null))
    }
}

/// Returns whether two values of an enum have the same variant.
pub fn same_variant<E>(one: &E, other: &E) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Collects named fields into an object. Returns `null` if JSON cannot represent one of them: the
/// failure then does not decode to the same variant, and is not recorded.
pub fn named<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields
        .into_iter()
        .map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Option<_>>()
        .map_or(Value::Null, Value::Object)
}

/// Collects unnamed fields into an array, or returns `null` as [`named`] does.
pub fn listed<const N: usize>(fields: [Option<Value>; N]) -> Value {
    fields
        .into_iter()
        .collect::<Option<_>>()
        .map_or(Value::Null, Value::Array)
}

/// The field type of the variant for replayed failures: a [`StoredFailure`], boxed or not.
#[diagnostic::on_unimplemented(
    message = "the variant for replayed failures holds the stored failure, but `{Self}` is not `StoredFailure`",
    label = "write `idem_runtime::StoredFailure` or `Box<idem_runtime::StoredFailure>`"
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

/// The conversions between the field of the variant for replayed failures and a [`StoredFailure`].
pub struct Replays<T> {
    stored: fn(&T) -> StoredFailure,
    held: fn(StoredFailure) -> T,
}

/// Returns the conversions of a field of this type.
pub fn replayed<T: HoldsStored>() -> Replays<T> {
    Replays {
        stored: T::stored,
        held: T::held,
    }
}

impl<T> Replays<T> {
    /// Returns the failure that the variant holds.
    pub fn stored(self, held: &T) -> StoredFailure {
        (self.stored)(held)
    }

    /// Converts a failure to the variant's field.
    pub fn held(self, failure: StoredFailure) -> T {
        (self.held)(failure)
    }
}
