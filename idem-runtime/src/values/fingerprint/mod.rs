//! The fingerprint of a request: the hash that requests are compared by.
//!
//! A request is serialized as canonical JSON and hashed together with the namespace and the
//! operation. Two requests are the same if their fingerprints are equal.
//!
//! # Canonical JSON
//!
//! The canonical form is written directly from [`serde::Serialize`]. It does not depend on the
//! features of `serde_json` that a build enables. Its data model is that of `serde_json`: a unit
//! variant is its name, other variants are objects with one member, bytes are an array of numbers,
//! and map keys may be text, integers, booleans, characters or unit variants. Where JSON allows
//! several spellings, these rules apply:
//!
//! - The members of an object are sorted by name, in code-point order, at every depth. Two members
//!   with the same name are an error.
//! - Arrays keep their order. No white space is written.
//! - Strings are escaped as `serde_json` escapes them: `\"`, `\\`, `\b`, `\t`, `\n`, `\f`, `\r`,
//!   and `\u00xx` in lower case for the other characters below U+0020. All other characters are
//!   written unescaped.
//! - Numbers are compared by their **exact decimal value**, which has one spelling. Zero is `0`.
//!   Any other number is its digits without leading or trailing zeros, scaled by a decimal point,
//!   by zeros, or, if that is shorter, by an `e` and the power of ten. So `1`, `1.0` and `10e-1`
//!   are all `1`, `5e-1` is `0.5`, `1000` is `1e3`, `0.001` is `1e-3`, and 9007199254740992 and
//!   …993 differ. The value of an `f32` or `f64` is the shortest decimal that reads back as it: of
//!   several, the nearest; of two equally near, the one whose last digit is even. An infinite
//!   number, a NaN and a power of ten beyond 64 bits are errors.
//! - A **struct field** that is an `Option` and `None` is left out, and so is a field skipped by
//!   `skip_serializing_if`. Therefore an added `Option` field does not cause retries of earlier
//!   requests to be refused. Every other `null` was written explicitly and stays: the field's own
//!   `Some(None)` and `Some(())`; a unit; a raw JSON `null` (of a `serde_json::Value` or a
//!   `RawValue`); a `null` that a `serialize_with` or a wrapper type makes of an `Option`; and each
//!   `null` in maps, arrays, tuples and variants: `Approve(None)` is not `Reject(None)`.
//!
//! The canonical form is never longer than the JSON text it was read from, nor longer than the text
//! that `serde_json` writes for the value. (`serde_json` writes up to four characters for each byte
//! of `serialize_bytes`.)
//!
//! Two different values have the same fingerprint if these rules, or their own `Serialize`, make
//! them equal:
//!
//! - a field that is skipped and one that is `None`; two variants of an untagged enum that differ
//!   only in which field is `None`; `Some(None)` and `None` inside arrays, maps and variants, where
//!   both are `null`;
//! - `1` and `1.0`, `-0.0` and `0`; a `char` and the text of one character; an integer and its text
//!   as a map key; a newtype, a `Box` or a reference and its content; a tuple and a list; a unit
//!   variant and its name.
//!
//! A struct with a `#[serde(flatten)]` field keeps its nulls, because serde serializes it as a map.
//! An `Option` field with a `serialize_with` keeps its null as well; add
//! `skip_serializing_if = "Option::is_none"` to leave it out.
//!
//! A `HashSet` serializes its elements in a different order each time, and lists are compared in
//! order: two equal sets have different fingerprints. Use a `BTreeSet`, or [`sorted()`].
//!
//! A `serde_json::Value` holds the numbers that its parser made. Without the feature
//! `arbitrary_precision` of `serde_json`, the parser rounds a fraction or an integer beyond 64 bits
//! to an `f64`, and an `f32` is widened. If such digits matter, compare the text itself, by
//! [`canonical_text`] or a `RawValue`, and do not put an `f32` into a `Value`.

mod canonical;
mod compound;
mod differing;
mod fault;
mod name;
mod number;
mod plain;
mod read;
mod request;
mod serializer;
mod sorted;
mod text;
mod version;

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::values::error::{Error, Field, Invalid};
use crate::values::key::hex;
use canonical::Writer;

pub(crate) use differing::differing;
pub(crate) use read::{with_plain_integers, without_order};
pub use request::RequestFields;
pub use sorted::sorted;
#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use version::know_version_2;

/// The version of the fingerprints that this build computes. It covers the canonical form and the
/// layout of the hashed bytes, and is stored with each record.
pub const FINGERPRINT_VERSION: i16 = 1;

/// The version of the fingerprints that an operation writes whose codec encrypts: under a key, over the canonical form
/// of version 1.
pub(crate) const FINGERPRINT_KEYED: i16 = 101;

/// The hash that a request is compared by: SHA-256 (FIPS 180-4), or, of an operation whose codec encrypts, the id of a
/// key and HMAC-SHA-256 under it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a request by the algorithm of `version`. Returns `None` if this
    /// build does not know the version.
    ///
    /// Version 1 hashes these bytes in this order, without separators: the byte 1; the namespace;
    /// the operation; the canonical JSON. Each of the three texts is preceded by its length in
    /// bytes, as 8 bytes, big-endian, so that no character can move from one text into the next.
    pub fn compute(
        version: i16,
        namespace: &str,
        operation: &str,
        canonical_request: &[u8],
    ) -> Option<Self> {
        let rules = version::rules(version)?;
        let canonical_request = (rules.of)(canonical_request);
        let mut hash = Sha256::new_with_prefix([rules.prefix]);
        for piece in [
            namespace.as_bytes(),
            operation.as_bytes(),
            &canonical_request,
        ] {
            // No platform has a `usize` of more than 64 bits.
            hash.update((piece.len() as u64).to_be_bytes());
            hash.update(piece);
        }
        Some(Self(hash.finalize().into()))
    }

    /// Computes the fingerprint of the version that this build writes.
    pub(crate) fn current(
        namespace: &str,
        operation: &str,
        canonical_request: &[u8],
    ) -> Result<Self, Error> {
        Self::compute(FINGERPRINT_VERSION, namespace, operation, canonical_request).ok_or(
            Error::UnknownState {
                what: "fingerprint version",
                value: FINGERPRINT_VERSION.into(),
            },
        )
    }

    /// Returns the id of the key in a keyed fingerprint.
    #[cfg(any(feature = "encrypt", feature = "operate"))]
    pub(crate) fn key_id(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Creates a fingerprint from the bytes of a record.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes as they are stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    /// 64 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::lower(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", hex::lower(&self.0))
    }
}

/// Returns the [canonical JSON](self#canonical-json) of a value.
///
/// ```
/// use idem_runtime::fingerprint::canonical_json;
///
/// #[derive(serde::Serialize)]
/// struct Transfer { to: &'static str, amount: f64, memo: Option<String> }
///
/// let transfer = Transfer { to: "acme", amount: 12.50, memo: None };
/// assert_eq!(canonical_json(&transfer)?, br#"{"amount":12.5,"to":"acme"}"#);
/// # Ok::<(), idem_runtime::error::Invalid>(())
/// ```
///
/// # Errors
///
/// [`Invalid`] of [`Field::Request`] if
///
/// - the value's own `Serialize` fails,
/// - a map key is not text,
/// - an object has two members with the same name,
/// - a number is not finite, or its power of ten exceeds 64 bits,
/// - [`canonical_text`] refuses the text of a `RawValue`.
pub fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Invalid> {
    let mut writer = Writer::new();
    match value.serialize(&mut writer) {
        Ok(()) => Ok(writer.out),
        Err(fault) => Err(fault.of(Field::Request)),
    }
}

/// Returns the [canonical JSON](self#canonical-json) of JSON text, including its nulls. The result
/// is never longer than the text.
///
/// The text is parsed by RFC 8259. Where the RFC leaves a choice, the strict one applies: UTF-8
/// without a byte order mark, no lone surrogates in escapes, no two members with the same name in
/// an object, and at most 128 levels of arrays and objects.
///
/// ```
/// use idem_runtime::fingerprint::canonical_text;
///
/// assert_eq!(canonical_text(br#" { "b" : 1.0, "a": null } "#)?, br#"{"a":null,"b":1}"#);
/// # Ok::<(), idem_runtime::error::Invalid>(())
/// ```
///
/// # Errors
///
/// [`Invalid`] of [`Field::Request`] if the text is not such JSON, or the power of ten of a number
/// exceeds 64 bits.
pub fn canonical_text(json: &[u8]) -> Result<Vec<u8>, Invalid> {
    let mut writer = Writer::new();
    match text::write(&mut writer, json) {
        Ok(()) => Ok(writer.out),
        Err(fault) => Err(fault.of(Field::Request)),
    }
}

#[cfg(test)]
mod tests;
