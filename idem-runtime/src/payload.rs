//! What a record holds, encoded and decoded. The codec is stored with every row.

pub(crate) mod failure;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Reason, place};
use crate::failure::StoredFailure;
use crate::fingerprint::{canonical_json, with_plain_integers, without_order};
use crate::record::{CODEC_JSON, Record};

/// Encodes a result or a failure for the record, proved to come back as it went; and what comes back,
/// which is what every caller gets.
pub(crate) fn encode<T>(operation: &str, value: &T) -> Result<(Vec<u8>, T), Error>
where
    T: Serialize + DeserializeOwned,
{
    let bytes = write(value, operation)?;
    let back = prove(operation, &bytes, decode::<T>, write::<T>)?;
    Ok((bytes, back))
}

/// Encodes; [`prove`] is the other half.
pub(crate) fn write<T: Serialize>(value: &T, operation: &str) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_string(value).map_err(|error| {
        let reason = "its `Serialize` fails";
        unstorable::<T>(operation, reason, Some(&error))
    })?;
    if hides_a_number(value, &text) {
        let reason = "a number in it is infinite or not a number, which JSON cannot hold";
        return Err(unstorable::<T>(operation, reason, None));
    }
    Ok(text.into_bytes())
}

/// Whether a number is lost in the JSON of a value: JSON has no NaN and no infinities, and `serde_json`
/// writes `null` for them.
pub(crate) fn hides_a_number<T: Serialize + ?Sized>(value: &T, json: &str) -> bool {
    json.contains("null")
        && canonical_json(value).is_err_and(|invalid| *invalid.reason() == Reason::NotFinite)
}

/// Decodes what is about to be recorded, encodes it again, and returns it. What then differs would
/// differ in every replay: better refused while all of it can still be rolled back. What JSON forgets
/// without a trace is lost for the first caller as well, who is given what this returns.
pub(crate) fn prove<T>(
    operation: &str,
    bytes: &[u8],
    read: impl FnOnce(&str, &[u8]) -> Result<T, Error>,
    write: impl FnOnce(&T, &str) -> Result<Vec<u8>, Error>,
) -> Result<T, Error> {
    let value = read(operation, bytes).map_err(|error| match error {
        Error::IncompatibleState { path, message, .. } => {
            let reason = "its own JSON does not decode";
            let why = format!("{message}, {}", place(&path));
            unstorable::<T>(operation, reason, Some(&why))
        }
        other => other,
    })?;
    if alike(bytes, &write(&value, operation)?) {
        return Ok(value);
    }
    let reason = "it does not come back from its JSON as it went (a field that is only written or \
                  only read, or an untagged enum whose variants overlap)";
    Err(unstorable::<T>(operation, reason, None))
}

/// Whether two payloads are the same but for the order of what has none: hash maps and sets.
pub(crate) fn alike(a: &[u8], b: &[u8]) -> bool {
    // The first of the two rounds what exceeds 64 bits, and the second takes 1.0 for 1.
    a == b
        || sorted(a).is_some_and(|a| Some(a) == sorted(b))
            && without_order(a).is_some_and(|a| Some(a) == without_order(b))
}

fn sorted(bytes: &[u8]) -> Option<Value> {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                items.sort_by_cached_key(|item| canonical_json(item).unwrap_or_default());
            }
            Value::Object(members) => members.values_mut().for_each(sort),
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(bytes).ok()?;
    sort(&mut value);
    Some(value)
}

/// A refusal for a reason in our own words; what others say of it may quote the value.
pub(crate) fn unstorable<T>(
    operation: &str,
    reason: &'static str,
    why: Option<&dyn fmt::Display>,
) -> Error {
    Error::NotStorable {
        operation: operation.to_owned(),
        type_name: std::any::type_name::<T>(),
        reason,
        message: match why {
            Some(why) => format!("{reason}: {why}"),
            None => reason.to_owned(),
        },
    }
}

/// Decodes a recorded request.
pub(crate) fn decode_request<T: DeserializeOwned>(
    operation: &str,
    canonical: &[u8],
) -> Result<T, Error> {
    decode(operation, &with_plain_integers(canonical))
}

/// Decodes what an operation recorded; says where it stopped.
pub(crate) fn decode<T: DeserializeOwned>(operation: &str, bytes: &[u8]) -> Result<T, Error> {
    // To know the place of a fault costs as much again: that way is gone where there is one.
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(_) => decode_saying_where(operation, bytes),
    }
}

fn decode_saying_where<T: DeserializeOwned>(operation: &str, bytes: &[u8]) -> Result<T, Error> {
    let incompatible = |path: String, error: serde_json::Error| Error::IncompatibleState {
        operation: operation.to_owned(),
        type_name: std::any::type_name::<T>(),
        path,
        message: error.to_string(),
    };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| incompatible(error.path().to_string(), error.into_inner()))?;
    json.end()
        .map_err(|error| incompatible(".".to_owned(), error))?;
    Ok(value)
}

/// The result of a completed record.
pub(crate) fn result_of<T: DeserializeOwned>(record: &Record) -> Result<T, Error> {
    decode(&record.operation, result_bytes(record)?)
}

/// The encoded result of a completed record.
pub(crate) fn result_bytes(record: &Record) -> Result<&[u8], Error> {
    present(record, record.result.as_deref(), "result")
}

/// The failure of a failed record.
pub(crate) fn stored_failure(record: &Record) -> Result<StoredFailure, Error> {
    decode(
        &record.operation,
        present(record, record.failure.as_deref(), "failure")?,
    )
}

/// A payload of a codec that this build knows.
fn present<'a>(
    record: &Record,
    bytes: Option<&'a [u8]>,
    what: &'static str,
) -> Result<&'a [u8], Error> {
    if record.codec != CODEC_JSON {
        return Err(Error::UnknownState {
            what: "codec",
            value: i64::from(record.codec),
        });
    }
    bytes.ok_or_else(|| Error::IncompatibleState {
        operation: record.operation.clone(),
        type_name: what,
        path: ".".to_owned(),
        message: "the record holds none".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// By bits: without `float_roundtrip`, serde_json is off by one for one number in ten.
        #[test]
        fn a_number_comes_back_to_the_last_bit(bits: u64, small: u32) {
            let (number, small) = (f64::from_bits(bits), f32::from_bits(small));
            prop_assume!(number.is_finite() && small.is_finite());
            let (bytes, _) = encode("t", &(number, small)).unwrap();
            let (read, read_small): (f64, f32) = decode("t", &bytes).unwrap();
            prop_assert_eq!(read.to_bits(), bits);
            prop_assert_eq!(read_small.to_bits(), small.to_bits());
        }

        #[test]
        fn a_number_of_a_failure_comes_back_to_the_last_bit(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let failure = StoredFailure::new("Over", "m").with_data(serde_json::json!({ "limit": number }));
            let read: StoredFailure = decode("t", &encode("t", &failure).unwrap().0).unwrap();
            prop_assert_eq!(read.data["limit"].as_f64().map(f64::to_bits), Some(bits));
        }
    }
}
