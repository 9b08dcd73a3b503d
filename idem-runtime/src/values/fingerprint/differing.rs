//! The places at which two canonical requests differ.

use super::read::behind_string;

/// The most places that are named.
pub(crate) const PLACES_MAX: usize = 16;
/// The longest name of a member that is shown, in bytes.
const NAME_MAX: usize = 64;

/// Returns the places at which two canonical requests differ, as JSON pointers (RFC 6901) in the order of the submitted
/// request: at most [`PLACES_MAX`], each once. Returns `None` if either is not canonical JSON.
///
/// No value is in them. The name of a member may be data as well, if the object is a map: a name is shown only if it is in the
/// submitted request and looks like an identifier, and otherwise the place is that of the object around it.
pub(crate) fn differing(recorded: &[u8], submitted: &[u8]) -> Option<Vec<String>> {
    let mut places = Vec::new();
    compare(&mut String::new(), recorded, submitted, &mut places)?;
    Some(places)
}

fn compare(
    at: &mut String,
    recorded: &[u8],
    submitted: &[u8],
    places: &mut Vec<String>,
) -> Option<()> {
    if recorded == submitted {
        return Some(());
    }
    match (recorded.first()?, submitted.first()?) {
        (b'{', b'{') => {
            let (old, new) = (members(recorded)?, members(submitted)?);
            for &(name, value) in &new {
                let before = old.iter().find(|(known, _)| *known == name);
                let length = at.len();
                let shown = name_of(name).map(|name| {
                    at.push('/');
                    at.push_str(name);
                });
                match (before, shown) {
                    (Some((_, before)), Some(())) => compare(at, before, value, places)?,
                    (Some((_, before)), None) if *before == value => {}
                    _ => add(at, places),
                }
                at.truncate(length);
            }
            let is_gone = |name: &[u8]| !new.iter().any(|(known, _)| *known == name);
            if old.iter().any(|(name, _)| is_gone(name)) {
                add(at, places);
            }
        }
        (b'[', b'[') => {
            let (old, new) = (elements(recorded)?, elements(submitted)?);
            for index in 0..old.len().max(new.len()) {
                let length = at.len();
                at.push('/');
                at.push_str(&index.to_string());
                match (old.get(index), new.get(index)) {
                    (Some(before), Some(value)) => compare(at, before, value, places)?,
                    _ => add(at, places),
                }
                at.truncate(length);
            }
        }
        _ => add(at, places),
    }
    Some(())
}

fn add(at: &str, places: &mut Vec<String>) {
    if places.len() < PLACES_MAX && !places.iter().any(|known| known == at) {
        places.push(at.to_owned());
    }
}

/// Returns the name of a member, if it looks like an identifier. Such a name needs no escape in a pointer.
fn name_of(quoted: &[u8]) -> Option<&str> {
    let name = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let is_start = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_name =
        name.first().is_some_and(is_start) && name.iter().all(is_part) && name.len() <= NAME_MAX;
    str::from_utf8(name).ok().filter(|_| is_name)
}

type NamedValue<'j> = (&'j [u8], &'j [u8]);

/// Returns the members of an object: the quoted name and the value.
fn members(object: &[u8]) -> Option<Vec<NamedValue<'_>>> {
    let parts = parts(object)?.into_iter().map(|part| {
        let name = behind_string(part, 0);
        let value = part.get(name..)?.strip_prefix(b":")?;
        Some((part.get(..name)?, value))
    });
    parts.collect()
}

fn elements(array: &[u8]) -> Option<Vec<&[u8]>> {
    parts(array)
}

/// Returns the text between the brackets, divided at the commas of this level.
fn parts(json: &[u8]) -> Option<Vec<&[u8]>> {
    let inner = json.get(1..json.len().checked_sub(1)?)?;
    let (mut found, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_usize);
    while let Some(&byte) = inner.get(at) {
        match byte {
            b'"' => {
                at = behind_string(inner, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                found.push(inner.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if !inner.is_empty() {
        found.push(inner.get(start..)?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::values::fingerprint::canonical_json;

    fn places(recorded: &serde_json::Value, submitted: &serde_json::Value) -> Vec<String> {
        let canonical = |value| canonical_json(value).expect("a canonical form");
        differing(&canonical(recorded), &canonical(submitted)).expect("canonical JSON")
    }

    #[test]
    fn every_place_is_named_by_its_pointer_and_no_value_is() {
        let recorded = json!({"cmd": {"account": 7, "lines": [{"cents": 1}, {"cents": 2}], "to": "Ada"}, "n": [1]});
        let submitted = json!({"cmd": {"account": "7", "lines": [{"cents": 1}, {"cents": 3}, 4], "memo": "x", "to": "Ada"}, "n": [1]});
        assert_eq!(
            places(&recorded, &submitted),
            [
                "/cmd/account",
                "/cmd/lines/1/cents",
                "/cmd/lines/2",
                "/cmd/memo"
            ]
        );
        assert!(places(&recorded, &recorded).is_empty());
        assert_eq!(places(&json!(1), &json!(2)), [""]);
    }

    #[test]
    fn a_name_that_may_be_data_is_not_shown() {
        let recorded = json!({"cmd": {"cards": {"4111": 1, "secret": 1}, "mails": {"a@b.c": 1}}});
        let submitted = json!({"cmd": {"cards": {"4111": 2}, "mails": {"a@b.c": 2, "a~/b": 1}}});
        assert_eq!(places(&recorded, &submitted), ["/cmd/cards", "/cmd/mails"]);
        let long = "n".repeat(NAME_MAX + 1);
        assert_eq!(places(&json!({ &*long: 1 }), &json!({ &*long: 2 })), [""]);
    }

    #[test]
    fn numbers_differ_by_their_exact_value_and_braces_in_texts_are_text() {
        let submitted = br#"{"a":9007199254740993,"b":"}],\"{[,"}"#;
        let recorded = br#"{"a":9007199254740992,"b":"}],\"{[,"}"#;
        assert_eq!(differing(recorded, submitted), Some(vec!["/a".to_owned()]));
    }

    #[test]
    fn many_places_are_cut() {
        let of = |value: u8| json!(vec![value; 2 * PLACES_MAX]);
        assert_eq!(places(&of(1), &of(2)).len(), PLACES_MAX);
    }

    #[test]
    fn what_is_not_canonical_has_no_places() {
        for json in [&b""[..], b"{", b"[}", b"{]}", b"{1:2}", b"{\"a"] {
            assert!(differing(json, b"{\"a\":1}").is_none_or(|places| places == [""]));
            assert!(differing(b"{\"a\":1}", json).is_none_or(|places| places == [""]));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(a: Vec<u8>, b: Vec<u8>) {
            let _ = differing(&a, &b);
            let wrap = |bytes: &[u8]| [b"{\"a\":", bytes, b"}"].concat();
            let _ = differing(&wrap(&a), &wrap(&b));
        }

        #[test]
        fn there_is_a_place_if_and_only_if_the_requests_differ(
            a in proptest::collection::vec((any::<bool>(), 0_u8..3), 0..4),
            b in proptest::collection::vec((any::<bool>(), 0_u8..3), 0..4),
        ) {
            let canonical = |value| canonical_json(value).expect("a canonical form");
            let found = differing(&canonical(&a), &canonical(&b)).expect("canonical JSON");
            prop_assert_eq!(found.is_empty(), a == b);
        }
    }
}
