//! Encoding and decoding of the payloads of a record: results, failures and requests. The codec is
//! stored with every row.

pub(crate) mod failure;
pub(crate) mod versioned;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::values::error::{Error, Reason, json_path};
use crate::values::failure::StoredFailure;
use crate::values::fingerprint::{canonical_json, with_plain_integers, without_order};
use crate::values::record::{CODEC_JSON, Record};

/// The kind of a payload, as [`Error::TooLargeToRecord`] names it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PayloadKind {
    Result,
    Failure,
}

/// Returns [`Error::TooLargeToRecord`] for a payload over the limit.
pub(crate) fn check_size(
    limit: usize,
    kind: PayloadKind,
    operation: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    if bytes.len() <= limit {
        return Ok(());
    }
    Err(Error::TooLargeToRecord {
        operation: operation.to_owned(),
        what: match kind {
            PayloadKind::Result => "result",
            PayloadKind::Failure => "failure",
        },
        size: bytes.len(),
        limit,
    })
}

/// Encodes a value without checking that it decodes; see [`check_round_trip`].
pub(crate) fn write<T: Serialize>(value: &T, operation: &str) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_string(value).map_err(|error| {
        let reason = "its `Serialize` implementation fails";
        unstorable::<T>(operation, reason, Some(&error))
    })?;
    if hides_a_number(value, &text) {
        let reason = "a number in it is infinite or not a number, which JSON cannot hold";
        return Err(unstorable::<T>(operation, reason, None));
    }
    Ok(text.into_bytes())
}

/// Returns whether the JSON of a value lost a number: JSON has no NaN and no infinities, and
/// `serde_json` writes `null` for them.
pub(crate) fn hides_a_number<T: Serialize + ?Sized>(value: &T, json: &str) -> bool {
    json.contains("null")
        && canonical_json(value).is_err_and(|invalid| *invalid.reason() == Reason::NotFinite)
}

/// Decodes the bytes that are about to be recorded, encodes the value again, and returns it.
/// Returns [`Error::NotStorable`] if the two encodings differ: every replay would differ in the
/// same way, and here the transaction can still be rolled back. A value that JSON drops without a
/// difference in the text is also absent from the returned value, which the first caller gets.
pub(crate) fn check_round_trip<T>(
    operation: &str,
    bytes: &[u8],
    read: impl FnOnce(&str, &[u8]) -> Result<T, Error>,
    write: impl FnOnce(&T, &str) -> Result<Vec<u8>, Error>,
) -> Result<T, Error> {
    let value = read(operation, bytes).map_err(|error| match error {
        Error::IncompatibleState { path, message, .. } => {
            let reason = "it does not decode from its own JSON";
            let why = format!("{message}, {}", json_path(&path));
            unstorable::<T>(operation, reason, Some(&why))
        }
        other => other,
    })?;
    if alike(bytes, &write(&value, operation)?) {
        return Ok(value);
    }
    let reason = "it decodes from its JSON to a different value (a field that is only written or \
                  only read, or an untagged enum whose variants overlap)";
    Err(unstorable::<T>(operation, reason, None))
}

/// Returns whether two payloads are equal except for the order of array elements, because hash maps
/// and sets have no stable order.
pub(crate) fn alike(a: &[u8], b: &[u8]) -> bool {
    // `sorted` rounds numbers beyond 64 bits; `without_order` treats 1.0 and 1 as equal. Together
    // they are exact.
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

/// Creates [`Error::NotStorable`]. `reason` never quotes the value; `why`, a text of serde, may.
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

/// Decodes a recorded canonical request.
pub(crate) fn decode_request<T: DeserializeOwned>(
    operation: &str,
    canonical: &[u8],
) -> Result<T, Error> {
    decode(operation, &with_plain_integers(canonical))
}

/// Decodes a payload of an operation. The error names the path of the field that does not decode.
pub(crate) fn decode<T: DeserializeOwned>(operation: &str, bytes: &[u8]) -> Result<T, Error> {
    // Tracking the path doubles the cost, so the bytes are decoded again with it only after an
    // error.
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
        version: None,
    };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| incompatible(error.path().to_string(), error.into_inner()))?;
    json.end()
        .map_err(|error| incompatible(".".to_owned(), error))?;
    Ok(value)
}

/// Returns the payload of a completed record.
pub(crate) fn result_bytes(record: &Record) -> Result<&[u8], Error> {
    present(record, record.result.as_deref(), "result")
}

/// Returns the payload of a failed record.
pub(crate) fn failure_bytes(record: &Record) -> Result<&[u8], Error> {
    present(record, record.failure.as_deref(), "failure")
}

/// Decodes the failure of a failed record, of whatever version: class and message are in each.
pub(crate) fn stored_failure(record: &Record) -> Result<StoredFailure, Error> {
    let (_, json) = versioned::split(failure_bytes(record)?);
    decode(&record.operation, json)
}

/// Returns a payload. Returns an error if this build does not know the codec, or if the record has
/// no such payload.
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
        message: "the record has no payload".to_owned(),
        version: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::versioned::Format;
    use super::*;

    proptest! {
        /// Compares bits: without its feature `float_roundtrip`, `serde_json` misreads the last bit
        /// of one number in ten.
        #[test]
        fn a_number_comes_back_to_the_last_bit(bits: u64, small: u32) {
            let (number, small) = (f64::from_bits(bits), f32::from_bits(small));
            prop_assume!(number.is_finite() && small.is_finite());
            let format = Format::of(None);
            let (bytes, _) = format.encode(usize::MAX, PayloadKind::Result, "t", &(number, small)).unwrap();
            let (read, read_small): (f64, f32) = decode("t", &bytes).unwrap();
            prop_assert_eq!(read.to_bits(), bits);
            prop_assert_eq!(read_small.to_bits(), small.to_bits());
        }

        #[test]
        fn a_number_of_a_failure_comes_back_to_the_last_bit(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let failure = StoredFailure::new("Over", "m").with_data(serde_json::json!({ "limit": number }));
            let read: StoredFailure = decode("t", &Format::of(None).encode(usize::MAX, PayloadKind::Failure, "t", &failure).unwrap().0).unwrap();
            prop_assert_eq!(read.data["limit"].as_f64().map(f64::to_bits), Some(bits));
        }
    }
}
