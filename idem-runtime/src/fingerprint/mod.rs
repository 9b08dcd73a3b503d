//! What a request is compared by.
//!
//! A request is written as canonical JSON and hashed together with the namespace and the
//! operation. Two requests are the same when their fingerprints are.
//!
//! # Canonical JSON
//!
//! The form is written straight from [`serde::Serialize`] and is the same whatever features
//! of `serde_json` the rest of a build turns on. Its data model is that of `serde_json`
//! (a unit variant is its name, other variants are objects with one member, bytes are an
//! array of numbers, map keys may be text, integers, booleans, characters or unit variants).
//! Where JSON leaves a choice:
//!
//! - The members of an object are sorted by name, in code-point order, at every depth. Two
//!   members of one name are an error.
//! - Arrays keep their order. There is no white space.
//! - Strings are as `serde_json` writes them: `\"`, `\\`, `\b`, `\t`, `\n`, `\f`, `\r`,
//!   `\u00xx` in lower case for the other characters below U+0020, and all else as it is.
//! - Numbers stand for their **exact decimal value**, spelled in one way: zero is `0`; any other
//!   number is its digits without leading or trailing zeros, put to their power of ten by a
//!   decimal point or by zeros, or, where that is shorter, taken as an integer with `e` and the
//!   power of ten behind it. So `1`, `1.0` and `10e-1` are all `1`, `5e-1` is `0.5`, `1000` is
//!   `1e3`, `0.001` is `1e-3`, and 9007199254740992 and …993 differ. An `f32` or `f64` has the value of the shortest decimal that reads back as it: of several
//!   the nearest, and of two equally near the one whose last digit is even. One that is
//!   infinite or not a number is an error, as is a power of ten beyond 64 bits.
//! - A **struct's field** that is an `Option` and `None` is left out, as is one that
//!   `skip_serializing_if` skips, so that adding an `Option` field does not refuse the retries of
//!   requests made before. Every other `null` stays, because somebody said it: the field's own
//!   `Some(None)` and `Some(())`, a unit, a raw JSON `null` (of a `serde_json::Value` or a
//!   `RawValue`), whatever a `serialize_with` or a type around an `Option` makes of it; and those
//!   in maps, arrays, tuples and variants: `Approve(None)` is not `Reject(None)`.
//!
//! The form is never longer than the JSON text that it was made of, nor than what `serde_json` writes
//! for the value (which takes up to four characters for each byte of `serialize_bytes`).
//!
//! Two different values are the same request where these rules, or their own `Serialize`, say so:
//!
//! - a field that is skipped and one that is `None`; two variants of an untagged enum which differ
//!   only in which field is `None`; `Some(None)` and `None` inside arrays, maps and variants, where
//!   both are `null`;
//! - `1` and `1.0`, `-0.0` and `0`; the `char` and the text of one character; an integer and its
//!   text as the key of a map; a newtype, a `Box` or a reference and what is in it; a tuple and a
//!   list; a unit variant and its name.
//!
//! A struct with a `#[serde(flatten)]` field keeps its nulls, because serde presents it as a map. An
//! `Option` field with a `serialize_with` keeps its null as well: add `skip_serializing_if =
//! "Option::is_none"` to it if it is to be left out.
//!
//! A `HashSet` lists its elements in another order each time, and lists are compared with their
//! order: two equal sets are two different requests. Use a `BTreeSet`, or [`sorted`].
//!
//! A `serde_json::Value` holds what its parser made of the text: without that crate's
//! `arbitrary_precision`, a fraction or an integer beyond 64 bits was rounded to an `f64`
//! before this module saw it, and an `f32` was widened. Where such digits matter, compare the
//! text itself, by [`canonical_text`] or a `RawValue`, and keep an `f32` out of a `Value`.

mod canonical;
mod compound;
mod fault;
mod name;
mod number;
mod plain;
mod read;
mod request;
mod serializer;
mod sorted;
mod text;

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{Field, Invalid};
use crate::key::hex;
use canonical::Writer;

pub(crate) use read::{with_plain_integers, without_order};
pub use request::RequestFields;
pub use sorted::sorted;

/// The version of the fingerprints this build makes. It covers both the canonical form and
/// the layout of the hashed bytes, and is stored with each record.
pub const FINGERPRINT_VERSION: i16 = 1;

/// The SHA-256 a request is compared by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request by the algorithm of `version`, or `None` for a version
    /// that this build does not know.
    ///
    /// Version 1 hashes, in this order and with nothing between: the byte 1; the namespace;
    /// the operation; the canonical JSON. Each of the three is preceded by its length in
    /// bytes, as 8 bytes, big-endian, so that no text can move from one into the next.
    pub fn compute(
        version: i16,
        namespace: &str,
        operation: &str,
        canonical_request: &[u8],
    ) -> Option<Self> {
        match version {
            1 => {
                let mut hash = Sha256::new_with_prefix([1]);
                for piece in [
                    namespace.as_bytes(),
                    operation.as_bytes(),
                    canonical_request,
                ] {
                    // No platform has a `usize` of more than 64 bits.
                    hash.update((piece.len() as u64).to_be_bytes());
                    hash.update(piece);
                }
                Some(Self(hash.finalize().into()))
            }
            _ => None,
        }
    }

    /// A fingerprint read from a record.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, as they are stored.
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

/// The [canonical JSON](self#canonical-json) of a value.
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
/// [`Invalid`] naming [`Field::Request`] when the value's own `Serialize` fails, a map's key
/// is no text, two members of an object have one name, a number is not finite or its power
/// of ten exceeds 64 bits, or a `RawValue` is refused as by [`canonical_text`].
pub fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Invalid> {
    let mut writer = Writer::new();
    match value.serialize(&mut writer) {
        Ok(()) => Ok(writer.out),
        Err(fault) => Err(fault.of(Field::Request)),
    }
}

/// The [canonical JSON](self#canonical-json) of JSON text, with its nulls. It is never longer than the
/// text.
///
/// The text is read by RFC 8259, and more strictly where that leaves room: UTF-8 without a
/// byte order mark, no lone surrogates in escapes, no two members of one name in an object,
/// and at most 128 levels of arrays and objects.
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
/// [`Invalid`] naming [`Field::Request`] when the text is not such JSON, or a number's power
/// of ten exceeds 64 bits.
pub fn canonical_text(json: &[u8]) -> Result<Vec<u8>, Invalid> {
    let mut writer = Writer::new();
    match text::write(&mut writer, json) {
        Ok(()) => Ok(writer.out),
        Err(fault) => Err(fault.of(Field::Request)),
    }
}

#[cfg(test)]
mod tests;
