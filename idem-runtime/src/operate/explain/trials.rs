//! What differs, where only the hash of a request was kept: found by trying requests that differ in one thing.

use serde_json::{Map, Value};

/// What can differ, if no trial finds it.
const POSSIBLE: [&str; 4] = [
    "a value is another one than in the first request",
    "a compared parameter or a field was renamed or removed since, or one was added that is not an `Option`",
    "a parameter is compared that should not be: a clock, a trace id, a client (`skip(..)`)",
    "the elements of a set or a map came in another order (`fingerprint::sorted`, or a `BTreeSet`)",
];

/// Returns in words which single change makes `is_recorded` true, or what can differ if none does.
pub(super) fn trials(canonical: &[u8], is_recorded: impl Fn(&[u8]) -> bool) -> Vec<String> {
    let Ok(request) = serde_json::from_slice::<Value>(canonical) else {
        return Vec::new();
    };
    let tried = |value: &Value| is_recorded(value.to_string().as_bytes());
    let mut hints = Vec::new();
    let mut without_nulls = request.clone();
    remove_nulls(&mut without_nulls);
    if without_nulls != request && tried(&without_nulls) {
        hints.push(
            "without its nulls it is the recorded one: an absent field is sent as null now"
                .to_owned(),
        );
    }
    for path in members(&request, &mut Vec::new()) {
        let mut changed = request.clone();
        if remove(&mut changed, &path) && tried(&changed) {
            hints.push(format!(
                "without `{}` it is the recorded one: that was added since, or is compared although it should not be",
                path.join(".")
            ));
        }
    }
    if let Value::Object(parameters) = &request {
        for (name, value) in parameters {
            if parameters.len() == 1 && tried(value) {
                hints.push(format!("the content of `{name}` alone is the recorded one: it was compared without its name"));
            }
        }
    }
    for name in ["cmd", "command", "req", "request", "input", "body"] {
        let wrapped = Map::from_iter([(name.to_owned(), request.clone())]);
        if tried(&Value::Object(wrapped)) {
            hints.push(format!(
                "as the parameter `{name}` it is the recorded one: give it as {{\"{name}\": ..}}"
            ));
        }
    }
    if hints.is_empty() {
        hints.extend(POSSIBLE.map(str::to_owned));
    }
    hints
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// The paths of all members of objects that are in no array, outer ones first.
fn members(value: &Value, path: &mut Vec<String>) -> Vec<Vec<String>> {
    let Value::Object(own) = value else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, value) in own {
        path.push(name.clone());
        found.push(path.clone());
        found.extend(members(value, path));
        path.pop();
    }
    found
}

fn remove(value: &mut Value, path: &[String]) -> bool {
    let Some((last, outer)) = path.split_last() else {
        return false;
    };
    let mut at = value;
    for name in outer {
        match at.get_mut(name) {
            Some(inner) => at = inner,
            None => return false,
        }
    }
    at.as_object_mut()
        .is_some_and(|members| members.remove(last).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(submitted: &str, recorded: &str) -> Vec<String> {
        let recorded: Value = serde_json::from_str(recorded).unwrap();
        trials(submitted.as_bytes(), |text| {
            serde_json::from_slice::<Value>(text).unwrap() == recorded
        })
    }

    #[test]
    fn one_change_is_found_by_its_path() {
        let found = hints(r#"{"cmd":{"a":1,"memo":"x"}}"#, r#"{"cmd":{"a":1}}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`cmd.memo`"), "{found:?}");
        let found = hints(r#"{"cmd":{"a":1,"memo":null}}"#, r#"{"cmd":{"a":1}}"#);
        assert!(found[0].contains("nulls"), "{found:?}");
        let found = hints(r#"{"a":1}"#, r#"{"cmd":{"a":1}}"#);
        assert!(found[0].contains("`cmd`"), "{found:?}");
    }

    #[test]
    fn what_no_trial_finds_is_answered_by_what_can_differ_and_by_no_value() {
        let found = hints(r#"{"cmd":{"a":"secret"}}"#, r#"{"cmd":{"a":"other"}}"#);
        assert_eq!(found, POSSIBLE);
    }
}
