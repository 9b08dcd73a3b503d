//! The paths at which two canonical requests differ.

use serde_json::{Map, Value};

use super::Difference;

/// Returns the differing paths, in the order of the paths.
pub(super) fn differences(recorded: &[u8], submitted: &[u8]) -> Vec<Difference> {
    let read = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    let mut found = Vec::new();
    compare(
        "",
        read(recorded).as_ref(),
        read(submitted).as_ref(),
        &mut found,
    );
    found
}

fn compare(
    path: &str,
    recorded: Option<&Value>,
    submitted: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (recorded, submitted) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for name in names(old, new) {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                compare(&path, old.get(&name), new.get(&name), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                let path = format!("{path}[{index}]");
                compare(&path, old.get(index), new.get(index), found);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(Difference {
            path: path.to_owned(),
            recorded: old.cloned(),
            submitted: new.cloned(),
        }),
    }
}

fn names(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<String> {
    let mut names: Vec<_> = old.keys().chain(new.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_has_its_path_and_equal_values_have_none() {
        let old = br#"{"cmd":{"account":7,"gone":1,"lines":[{"cents":1},{"cents":2}]},"same":[1]}"#;
        let new = br#"{"cmd":{"account":"7","lines":[{"cents":1},{"cents":3},4],"memo":null},"same":[1]}"#;
        let paths: Vec<_> = differences(old, new)
            .into_iter()
            .map(|difference| {
                let is_there = |value: Option<Value>| value.is_some();
                (
                    difference.path,
                    is_there(difference.recorded),
                    is_there(difference.submitted),
                )
            })
            .collect();
        let expected = [
            ("cmd.account", true, true),
            ("cmd.gone", true, false),
            ("cmd.lines[1].cents", true, true),
            ("cmd.lines[2]", false, true),
            ("cmd.memo", false, true),
        ];
        let expected = expected.map(|(path, old, new)| (path.to_owned(), old, new));
        assert_eq!(paths, expected);
        assert_eq!(differences(old, old), []);
    }
}
