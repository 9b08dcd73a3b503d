//! Canonical forms and fingerprints.

mod null;
mod number;
mod order;
mod property;
mod request;
mod text;
mod typed;

use serde::Serialize;

use super::{canonical_json, canonical_text};
use crate::error::{Field, Reason};

/// The canonical form of a value that has one.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    let bytes = canonical_json(value).expect("a canonical form");
    String::from_utf8(bytes).expect("UTF-8")
}

/// The canonical form of JSON text that has one.
fn text(json: &str) -> String {
    let bytes = canonical_text(json.as_bytes()).expect("a canonical form");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Why a value has no canonical form.
fn refused<T: Serialize + ?Sized>(value: &T) -> Reason {
    let invalid = canonical_json(value).expect_err("to be refused");
    assert_eq!(invalid.field(), &Field::Request);
    invalid.reason().clone()
}

/// Why JSON text has no canonical form.
fn refused_text(json: &[u8]) -> Reason {
    let invalid = canonical_text(json).expect_err("to be refused");
    assert_eq!(invalid.field(), &Field::Request);
    invalid.reason().clone()
}
