//! Tests of canonical forms and fingerprints.

mod null;
mod number;
mod order;
mod property;
mod request;
mod text;
mod typed;

use serde::Serialize;

use super::{canonical_json, canonical_text};
use crate::values::error::{Field, Reason};

/// Returns the canonical form of a value, which must have one.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    let bytes = canonical_json(value).expect("a canonical form");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Returns the canonical form of JSON text, which must have one.
fn text(json: &str) -> String {
    let bytes = canonical_text(json.as_bytes()).expect("a canonical form");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Returns the reason why a value is refused.
fn refused<T: Serialize + ?Sized>(value: &T) -> Reason {
    let invalid = canonical_json(value).expect_err("to be refused");
    assert_eq!(invalid.field(), &Field::Request);
    invalid.reason().clone()
}

/// Returns the reason why JSON text is refused.
fn refused_text(json: &[u8]) -> Reason {
    let invalid = canonical_text(json).expect_err("to be refused");
    assert_eq!(invalid.field(), &Field::Request);
    invalid.reason().clone()
}
