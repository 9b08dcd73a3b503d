//! What a record holds, encoded and decoded. The codec is stored with every row.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::failure::StoredFailure;
use crate::record::{CODEC_JSON, Record};

/// Encodes a result or a failure for the record.
pub(crate) fn encode<T: Serialize>(operation: &str, value: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::NotStorable {
        operation: operation.to_owned(),
        type_name: std::any::type_name::<T>(),
        message: error.to_string(),
    })
}

/// Decodes what an operation recorded; says where it stopped.
pub(crate) fn decode<T: DeserializeOwned>(operation: &str, bytes: &[u8]) -> Result<T, Error> {
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
    decode(
        &record.operation,
        present(record, record.result.as_deref(), "result")?,
    )
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
            let bytes = encode("t", &(number, small)).unwrap();
            let (read, read_small): (f64, f32) = decode("t", &bytes).unwrap();
            prop_assert_eq!(read.to_bits(), bits);
            prop_assert_eq!(read_small.to_bits(), small.to_bits());
        }

        #[test]
        fn a_number_of_a_failure_comes_back_to_the_last_bit(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let failure = StoredFailure::new("Over", "m").with_data(serde_json::json!({ "limit": number }));
            let read: StoredFailure = decode("t", &encode("t", &failure).unwrap()).unwrap();
            prop_assert_eq!(read.data["limit"].as_f64().map(f64::to_bits), Some(bits));
        }
    }
}
