//! Reads the key from a call's metadata.
//!
//! 1. The key is the one value of `idempotency-key`. It is written as in the HTTP header of that name
//!    ([the rules](idem_runtime::http::header)): a String of RFC 8941 in double quotes, or without quotes visible
//!    ASCII other than `"`, `,`, `;` and `\`. A gateway that turns a header into metadata therefore keeps the key.
//! 2. More than one value is refused, even if they are equal. gRPC lets an implementation join values by a comma, so
//!    a comma outside quotes is refused too.
//! 3. `idempotency-key-bin` and `x-idempotency-key` are not read. A call with one of them is refused, even if no key is
//!    required, because its sender believes that it is protected.
//! 4. Then the rules of [`IdempotencyKey`] apply: 1 to 255 characters, trimmed, no control characters. An empty value
//!    is refused, because its sender meant to send a key.

use idem_runtime::IdempotencyKey;
use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::http::header::{self, Syntax};
use tonic::metadata::MetadataMap;

/// `idempotency-key`, the metadata that holds the key.
pub const IDEMPOTENCY_KEY: &str = header::IDEMPOTENCY_KEY;

/// `idempotent-replayed`: `true` in the metadata of an answer that is a replay.
pub const IDEMPOTENT_REPLAYED: &str = header::IDEMPOTENT_REPLAYED;

/// `grpc-retry-pushback-ms`: when a client with a retry policy may try again, in milliseconds, or `-1` for not at all (gRFC
/// A6).
pub const RETRY_PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The key's name with the suffix of binary metadata.
const BINARY: &str = "idempotency-key-bin";

/// Returns the key of a call's metadata, without a scope, or `None` if it has none.
///
/// ```
/// use idem_tonic::metadata;
/// use tonic::metadata::MetadataMap;
///
/// let mut sent = MetadataMap::new();
/// sent.insert("idempotency-key", "8e03978e-40d5".parse().unwrap());
/// assert_eq!(metadata::key(&sent)?.expect("a key").as_str(), "8e03978e-40d5");
///
/// sent.append("idempotency-key", "8e03978e-40d5".parse().unwrap());
/// assert!(metadata::key(&sent).is_err());
/// # Ok::<_, idem_runtime::error::Invalid>(())
/// ```
///
/// # Errors
/// Returns [`Invalid`] of [`Field::Metadata`] for the syntax or for a name that is not read, and of [`Field::Key`] for the
/// key itself.
pub fn key(metadata: &MetadataMap) -> Result<Option<IdempotencyKey>, Invalid> {
    if metadata.get_bin(BINARY).is_some() {
        return Err(not_read(BINARY));
    }
    if metadata.get(header::X_IDEMPOTENCY_KEY).is_some() {
        return Err(not_read(header::X_IDEMPOTENCY_KEY));
    }
    let mut values = metadata.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let value = value.as_encoded_bytes();
    let is_quoted = value.trim_ascii_start().starts_with(b"\"");
    if values.next().is_some() || !is_quoted && value.contains(&b',') {
        return Err(Invalid::new(
            Field::Metadata(IDEMPOTENCY_KEY.into()),
            Reason::Repeated,
        ));
    }
    // Strict is one string in quotes; lenient would take an equal second one.
    let syntax = if is_quoted {
        Syntax::Strict
    } else {
        Syntax::Lenient
    };
    let lines = |name| (name == IDEMPOTENCY_KEY).then_some(value);
    header::key(lines, syntax).map_err(|invalid| match invalid.field() {
        Field::Header(_) => Invalid::new(
            Field::Metadata(IDEMPOTENCY_KEY.into()),
            invalid.reason().clone(),
        ),
        _ => invalid,
    })
}

fn not_read(name: &'static str) -> Invalid {
    let instead = IDEMPOTENCY_KEY.into();
    Invalid::new(Field::Metadata(name.into()), Reason::NotRead { instead })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(values: &[&str]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for value in values {
            metadata.append(IDEMPOTENCY_KEY, value.parse().expect("ASCII"));
        }
        metadata
    }

    fn refusal(values: &[&str]) -> String {
        key(&sent(values)).expect_err("refused").to_string()
    }

    #[test]
    fn a_value_is_read_as_in_the_header() {
        for value in ["8e03978e", "\"8e03978e\"", " 8e03978e ", "\"8e03978e\";a=1"] {
            let key = key(&sent(&[value])).expect(value).expect(value);
            assert_eq!(key.as_str(), "8e03978e", "{value}");
            assert!(key.scope().is_none());
        }
        let comma = key(&sent(&["\"a, b\""])).expect("read").expect("a key");
        assert_eq!(comma.as_str(), "a, b");
        assert_eq!(key(&MetadataMap::new()), Ok(None));
    }

    #[test]
    fn duplicates_are_refused_even_if_they_are_equal() {
        for values in [&["a", "a"][..], &["a", "b"], &["a,a"], &["\"a\", \"a\""]] {
            let refusal = refusal(values);
            assert!(
                refusal.starts_with("metadata `idempotency-key` is given more than once"),
                "{values:?}: {refusal}"
            );
        }
    }

    #[test]
    fn a_limit_and_a_bad_value_are_named() {
        assert_eq!(
            refusal(&[&"k".repeat(256)]),
            "key is 256 characters long; the limit is 255"
        );
        assert!(key(&sent(&[&"k".repeat(255)])).is_ok());
        assert_eq!(refusal(&[""]), "key is empty");
        assert!(refusal(&["a;b"]).starts_with("metadata `idempotency-key` has ';'"));
        assert!(refusal(&["\"a"]).starts_with("metadata `idempotency-key` is not a string"));
    }

    #[test]
    fn a_key_under_a_name_that_is_not_read_is_refused() {
        let mut binary = sent(&["a"]);
        binary.insert_bin(
            BINARY,
            tonic::metadata::MetadataValue::from_bytes(b"\x00\x01"),
        );
        assert_eq!(
            key(&binary).expect_err("refused").to_string(),
            "metadata `idempotency-key-bin` is not read: send `idempotency-key` instead"
        );
        let mut older = MetadataMap::new();
        older.insert("x-idempotency-key", "a".parse().expect("ASCII"));
        assert!(key(&older).is_err());
    }
}
