//! The schemas that others refer to.
//!
//! A type may have two: as a client sends it, and as it is answered. A field with `#[serde(default)]` is required in one of
//! them. Where they differ, the one of results is called `{name}Result`, or longer if another type is called so.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
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
        let suffixes = suffixes(&all, &answered);
        for (name, mut schema) in answered {
            redirect(&mut schema, &suffixes);
            let suffix = suffixes.get(&name).map_or("", String::as_str);
            all.insert(name + suffix, schema);
        }
        results.for_each(|result| redirect(result, &suffixes));
        all
    }
}

/// Returns what follows the names of results' schemas that need another name: one that nothing else has.
fn suffixes(params: &Map<String, Value>, results: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut given = BTreeSet::new();
    let differing = differing(params, results).into_iter();
    differing
        .map(|name| {
            let mut suffix = SUFFIX.to_owned();
            loop {
                let own = format!("{name}{suffix}");
                if !params.contains_key(&own) && !results.contains_key(&own) && given.insert(own) {
                    break;
                }
                suffix.push_str(SUFFIX);
            }
            (name, suffix)
        })
        .collect()
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
            (name == "$ref" && referred(value).is_some_and(|name| names.contains(&*name)))
                || refers(value, names)
        }),
        Value::Array(items) => items.iter().any(|item| refers(item, names)),
        _ => false,
    }
}

fn redirect(schema: &mut Value, suffixes: &BTreeMap<String, String>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                let referred = referred(value).filter(|_| name == "$ref");
                let suffix = referred.and_then(|referred| suffixes.get(&*referred));
                match (suffix, &mut *value) {
                    // A suffix needs no escape.
                    (Some(suffix), Value::String(reference)) => reference.push_str(suffix),
                    _ => redirect(value, suffixes),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, suffixes)),
        _ => {}
    }
}

/// Returns the name of the definition that a reference names: it is a JSON pointer in a fragment (RFC 6901, section 6).
fn referred(reference: &Value) -> Option<Cow<'_, str>> {
    let path = reference.as_str()?.strip_prefix('#')?;
    let name = path.strip_prefix(PATH)?.strip_prefix('/')?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    if name.contains('~') {
        return Some(name.replace("~1", "/").replace("~0", "~").into());
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn to(name: &str) -> Value {
        json!({ "$ref": format!("#{PATH}/{name}") })
    }

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn a_definition_that_differs_or_refers_to_such_a_one_has_two_names() {
        let params =
            object(&json!({ "A": { "required": [] }, "B": { "items": to("A") }, "C": {} }));
        let results = object(&json!({ "A": {}, "B": { "items": to("A") }, "C": {}, "D": to("B") }));
        let suffixes = suffixes(&params, &results);
        assert!(suffixes.keys().eq(["A", "B"]), "{suffixes:?}");
        let mut schema = json!([to("B"), { "x": to("C") }]);
        redirect(&mut schema, &suffixes);
        assert_eq!(schema, json!([to("BResult"), { "x": to("C") }]));
    }

    #[test]
    fn the_other_name_is_that_of_no_other_type() {
        let order = |required: Value| json!({ "required": required });
        let params = object(&json!({ "Order": order(json!([])), "ShipResult": {}, "Ship": {} }));
        let results = object(&json!({
            "Order": order(json!(["n"])),
            "OrderResult": { "order": to("Order") },
            "Ship": { "items": true },
        }));
        let suffixes = suffixes(&params, &results);
        let mut schema = json!([to("OrderResult"), to("Order"), to("Ship")]);
        redirect(&mut schema, &suffixes);
        let others = json!([
            to("OrderResult"),
            to("OrderResultResult"),
            to("ShipResultResult")
        ]);
        assert_eq!(schema, others);
    }

    #[test]
    fn a_name_with_escapes_is_found() {
        let params = object(&json!({ "a/b~c d": {} }));
        let results = object(&json!({ "a/b~c d": { "items": true } }));
        let mut schema = to("a~1b~0c%20d");
        redirect(&mut schema, &suffixes(&params, &results));
        assert_eq!(schema, to("a~1b~0c%20dResult"));
    }
}
