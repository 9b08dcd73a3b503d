//! Keys, scopes and namespaces, compared with their documented rules.

use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::{Error, IdempotencyKey, Namespace, Scope};

/// Returns the first reason that applies: blank, too long, a control character.
pub(crate) fn refusal(text: &str) -> Option<Reason> {
    let characters: Vec<char> = text.chars().collect();
    if characters.iter().all(|c| c.is_whitespace()) {
        return Some(Reason::Empty);
    }
    if characters.len() > 255 {
        return Some(Reason::TooLong {
            limit: 255,
            length: characters.len(),
        });
    }
    for (index, found) in characters.into_iter().enumerate() {
        if found.is_control() {
            return Some(Reason::Control { found, index });
        }
    }
    None
}

pub(crate) fn trimmed(text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    while characters.last().is_some_and(|c| c.is_whitespace()) {
        characters.pop();
    }
    while characters.first().is_some_and(|c| c.is_whitespace()) {
        characters.remove(0);
    }
    characters.into_iter().collect()
}

fn is_namespace(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| b"abcdefghijklmnopqrstuvwxyz0123456789-_".contains(&byte))
}

/// The refusal of bad input; any other is a fault.
fn invalid(error: Error) -> Invalid {
    match error {
        Error::Invalid(invalid) => invalid,
        other => panic!("{other}"),
    }
}

fn expect<T>(found: Result<T, Error>, field: &Field, refusal: Option<&Reason>) -> Option<T> {
    match (found.map_err(invalid), refusal) {
        (Ok(value), None) => Some(value),
        (Err(invalid), Some(reason)) => {
            assert_eq!((invalid.field(), invalid.reason()), (field, reason));
            None
        }
        (Ok(_), Some(reason)) => panic!("accepted, but the rules refuse it: {reason:?}"),
        (Err(invalid), None) => panic!("refused: {invalid}"),
    }
}

pub(crate) fn law(input: &[u8]) {
    // A header of other bytes is not text; the transport refuses it.
    let text = String::from_utf8_lossy(input);
    let plain = trimmed(&text);
    let key = expect(
        IdempotencyKey::parse(Some(&text)),
        &Field::Key,
        refusal(&plain).as_ref(),
    );
    if let Some(key) = key {
        key_law(&key.expect("present is never absent"), &plain);
    }
    let scope = expect(Scope::new(&*text), &Field::Scope, refusal(&text).as_ref());
    if let Some(scope) = scope {
        assert_eq!(scope.as_str(), text);
        assert!(!scope.is_global());
    }
    match Namespace::new(&*text).map_err(invalid) {
        Ok(namespace) => {
            assert!(is_namespace(&text));
            assert_eq!(namespace.as_str(), text);
        }
        Err(invalid) => {
            assert!(!is_namespace(&text), "{invalid}");
            assert_eq!(invalid.field(), &Field::Namespace);
        }
    }
}

fn key_law(key: &IdempotencyKey, plain: &str) {
    assert_eq!(key.as_str(), plain);
    assert_eq!(key.scope(), None);
    // An accepted key is stored, read again, and unchanged.
    let again: IdempotencyKey = key.as_str().parse().expect("it was accepted");
    assert_eq!(&again, key);
    let shown = format!("{key:?}");
    assert_eq!(shown.len(), "IdempotencyKey(#)".len() + 12, "{shown}");
    // A child is a key by the same rules. It is the same each time, and another label gives another
    // child.
    let [one, same, other] =
        ["mail", "mail", "card"].map(|label| key.child(label).expect("the label is not blank"));
    assert_eq!(one, same);
    assert_ne!(one, other);
    let child: IdempotencyKey = one.as_str().parse().expect("a child is a key");
    assert_eq!(child.as_str(), one.as_str());
}
