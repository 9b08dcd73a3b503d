//! The canonical form of JSON text.

use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json, canonical_text};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parse::parse;

pub(crate) fn law(input: &[u8]) {
    let expected = parse(input).and_then(|tree| tree.canonical());
    let found = canonical_text(input);
    let form = match (&found, &expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(str::from_utf8(found), Ok(&**expected));
            found
        }
        (Err(_), Err(_)) => return,
        (found, expected) => {
            panic!("the library returns {found:?}, but the rules give {expected:?}")
        }
    };
    assert_eq!(
        canonical_text(form).as_ref(),
        Ok(form),
        "the canonical form of the form differs from it"
    );
    // The same text inside a typed request.
    if let Ok(raw) = serde_json::from_slice::<&RawValue>(input) {
        assert_eq!(canonical_json(raw).as_ref(), Ok(form), "as a raw value");
    }
    if let Ok(value) = serde_json::from_slice::<Value>(input)
        && holds_integers_only(&value)
    {
        assert_eq!(canonical_json(&value).as_ref(), Ok(form), "as a value");
    }
    let hash = |namespace| Fingerprint::compute(FINGERPRINT_VERSION, namespace, "pay", form);
    assert_eq!(hash("a"), hash("a"));
    assert_ne!(hash("a"), hash("b"));
}

/// Returns whether the parser has rounded nothing.
fn holds_integers_only(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(holds_integers_only),
        Value::Object(members) => members.values().all(holds_integers_only),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
