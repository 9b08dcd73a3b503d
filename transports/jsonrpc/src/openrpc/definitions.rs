//! The schemas that others refer to.
//!
//! A type may have two: as a client sends it, and as it is answered. A field with `#[serde(default)]` is required in one of
//! them. Where they differ, the one of results is called `{name}Result`.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Where a document has them.
const PATH: &str = "/components/schemas";

/// What follows the name of a result's schema, if parameters have another of this name.
const SUFFIX: &str = "Result";

/// The generators of parameters and of results.
pub(super) struct Definitions {
    pub(super) params: SchemaGenerator,
    pub(super) results: SchemaGenerator,
}

impl Definitions {
    pub(super) fn new() -> Self {
        // OpenRPC's schemas are of this draft.
        let settings =
            || SchemaSettings::draft07().with(|settings| settings.definitions_path = PATH.into());
        Self {
            params: settings().for_deserialize().into_generator(),
            results: settings().for_serialize().into_generator(),
        }
    }

    /// Returns all definitions, and changes the references of these results to where theirs are.
    pub(super) fn finish<'r>(
        mut self,
        results: impl Iterator<Item = &'r mut Value>,
    ) -> Map<String, Value> {
        let mut all = self.params.take_definitions(true);
        let answered = self.results.take_definitions(true);
        let renamed = differing(&all, &answered);
        for (name, mut schema) in answered {
            redirect(&mut schema, &renamed);
            let name = if renamed.contains(&name) {
                name + SUFFIX
            } else {
                name
            };
            all.insert(name, schema);
        }
        results.for_each(|result| redirect(result, &renamed));
        all
    }
}

/// Returns the names that both have, and that do not mean the same, nor refer to the same.
fn differing(params: &Map<String, Value>, results: &Map<String, Value>) -> BTreeSet<String> {
    let both: Vec<_> = results
        .iter()
        .filter_map(|(name, result)| Some((name, result, params.get(name)?)))
        .collect();
    let mut differing: BTreeSet<String> = both
        .iter()
        .filter(|(_, result, param)| result != param)
        .map(|(name, ..)| (*name).clone())
        .collect();
    loop {
        let before = differing.len();
        for (name, result, _) in &both {
            if refers(result, &differing) {
                differing.insert((*name).clone());
            }
        }
        if differing.len() == before {
            return differing;
        }
    }
}

fn refers(schema: &Value, names: &BTreeSet<String>) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, value)| {
            (name == "$ref" && referred(value).is_some_and(|name| names.contains(name)))
                || refers(value, names)
        }),
        Value::Array(items) => items.iter().any(|item| refers(item, names)),
        _ => false,
    }
}

fn redirect(schema: &mut Value, names: &BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match referred(value).filter(|_| name == "$ref") {
                    Some(referred) if names.contains(referred) => {
                        *value = format!("#{PATH}/{referred}{SUFFIX}").into();
                    }
                    _ => redirect(value, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, names)),
        _ => {}
    }
}

/// Returns the name of the definition that a reference names.
fn referred(reference: &Value) -> Option<&str> {
    let path = reference.as_str()?.strip_prefix('#')?;
    path.strip_prefix(PATH)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_that_differs_or_refers_to_such_a_one_has_two_names() {
        let to = |name: &str| json!({ "$ref": format!("#{PATH}/{name}") });
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let params = object(json!({ "A": { "required": [] }, "B": { "items": to("A") }, "C": {} }));
        let results = object(json!({ "A": {}, "B": { "items": to("A") }, "C": {}, "D": to("B") }));
        let differing = differing(&params, &results);
        assert_eq!(Vec::from_iter(&differing), ["A", "B"]);
        let mut schema = json!([to("B"), { "x": to("C") }]);
        redirect(&mut schema, &differing);
        assert_eq!(schema, json!([to("BResult"), { "x": to("C") }]));
    }
}
