//! The secrets that must not be shown, and the search for them.

use std::error::Error as _;
use std::fmt::Debug;

use idem_runtime::http::Problem;
use idem_runtime::{Error, IdempotencyKey, Scope};

pub(crate) const KEY: &str = "key-of-ada";
pub(crate) const SCOPE: &str = "scope-of-ada";
pub(crate) const REQUEST: i64 = 4_815_162_342;
pub(crate) const RESULT: &str = "4111-1111";

/// A key that contains personal data.
pub(crate) fn key() -> IdempotencyKey {
    let key = KEY.parse::<IdempotencyKey>().expect("a key");
    key.scoped(Scope::new(SCOPE).expect("a scope"))
}

/// Asserts that the text contains no secret: not as text, as hexadecimal digits, or as a list of
/// bytes.
#[track_caller]
pub(crate) fn expect_none_in(text: &str) {
    let lean: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    for secret in [KEY, SCOPE, &REQUEST.to_string(), RESULT] {
        let bytes = secret.bytes();
        let hex: Vec<_> = bytes.clone().map(|byte| format!("{byte:02x}")).collect();
        let list: Vec<String> = bytes.map(|byte| byte.to_string()).collect();
        for form in [secret.to_owned(), hex.concat(), list.join(",")] {
            assert!(!lean.to_lowercase().contains(&form), "{secret}: {text}");
        }
    }
}

/// Asserts that neither `Debug` format of a value contains a secret.
#[track_caller]
pub(crate) fn expect_none_shown_by(value: &dyn Debug) {
    expect_none_in(&format!("{value:?}"));
    expect_none_in(&format!("{value:#?}"));
}

/// Asserts that no format of an error and of its sources contains a secret.
#[track_caller]
pub(crate) fn expect_none_told_by(error: &Error) {
    expect_none_shown_by(error);
    expect_none_in(&error.to_string());
    expect_none_shown_by(&Problem::of(error));
    let mut source = error.source();
    while let Some(error) = source {
        expect_none_shown_by(&error);
        expect_none_in(&error.to_string());
        source = error.source();
    }
}
