//! The shape of a compared value: a line for each part of it that JSON can hold.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The parts of what an operation compares, by path: `cmd.lines[].sku` is `string`.
pub(super) type Parts = BTreeMap<String, String>;

/// What follows the shape of a part that may be absent.
pub(super) const OPTIONAL: &str = ", optional";

/// What precedes a type without a schema.
pub(super) const OPAQUE: &str = "opaque: ";

/// Collects the parts of one value.
pub(super) struct Collector<'d> {
    definitions: &'d Map<String, Value>,
    /// The definitions that the present part is inside of.
    inside: Vec<String>,
    pub(super) parts: Parts,
}

impl<'d> Collector<'d> {
    pub(super) fn new(definitions: &'d Map<String, Value>) -> Self {
        Self {
            definitions,
            inside: Vec::new(),
            parts: Parts::new(),
        }
    }

    /// Adds the parts of a value at `path`. `optional` is set if it, or what it is in, may be absent.
    pub(super) fn add(&mut self, path: &str, schema: &Value, optional: bool) {
        let Some(schema) = schema.as_object().filter(|schema| !schema.is_empty()) else {
            return self.insert(path, "anything", optional);
        };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(path, reference, optional);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.insert(path, &one_of(values), optional);
        }
        if let Some(value) = schema.get("const") {
            return self.insert(path, &one_of(std::slice::from_ref(value)), optional);
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(alternatives) = schema.get(word).and_then(Value::as_array) {
                self.alternatives(path, alternatives, optional);
                // An internally tagged enum in a struct: its own properties come besides.
                if schema.contains_key("properties") {
                    self.object(path, schema, optional);
                }
                return;
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return all.iter().for_each(|part| self.add(path, part, optional));
        }
        self.typed(path, schema, optional);
    }

    fn reference(&mut self, path: &str, reference: &str, optional: bool) {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let Some(schema) = self.definitions.get(name) else {
            return self.insert(path, &format!("{OPAQUE}{name}"), optional);
        };
        if self.inside.iter().any(|outer| outer == name) {
            return self.insert(path, &format!("{name} again"), optional);
        }
        self.inside.push(name.to_owned());
        self.add(path, schema, optional);
        self.inside.pop();
    }

    /// Adds each alternative under a label of its own. A request has one of them, so each part is optional.
    fn alternatives(&mut self, path: &str, alternatives: &[Value], optional: bool) {
        let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
        let nullable = alternatives.iter().any(|schema| is_null(&schema));
        let others: Vec<_> = alternatives
            .iter()
            .filter(|schema| !is_null(schema))
            .collect();
        if let [only] = others[..] {
            return self.add(path, only, optional || nullable);
        }
        let (words, structured): (Vec<&Value>, Vec<&Value>) = others
            .into_iter()
            .partition(|schema| words(schema).is_some());
        if !words.is_empty() {
            let all = words.into_iter().filter_map(self::words).flatten();
            let all: Vec<_> = all.collect();
            let optional = optional || nullable || !structured.is_empty();
            self.insert(path, &one_of(&all), optional);
        }
        for (index, schema) in structured.into_iter().enumerate() {
            match label(schema) {
                Label::Member => self.add(path, schema, true),
                Label::Tag(tag) => self.add(&format!("{path}({tag})"), schema, true),
                Label::None => self.add(&format!("{path}({})", index + 1), schema, true),
            }
        }
    }

    fn typed(&mut self, path: &str, schema: &Map<String, Value>, optional: bool) {
        let (types, nullable) = types(schema);
        let optional = optional || nullable;
        match &*types {
            [one] if one == "object" => self.object(path, schema, optional),
            [one] if one == "array" => self.array(path, schema, optional),
            [] => self.insert(path, "anything", optional),
            types => self.insert(path, &types.join(" or "), optional),
        }
    }

    fn object(&mut self, path: &str, schema: &Map<String, Value>, optional: bool) {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.unwrap_or(&empty);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required
                .is_some_and(|required| required.iter().any(|other| other.as_str() == Some(name)))
        };
        for (name, property) in properties {
            let optional = optional || !is_required(name);
            self.add(&format!("{path}.{name}"), property, optional);
        }
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) => {
                let values = Value::Object(values.clone());
                self.add(&format!("{path}.*"), &values, true);
            }
            _ if properties.is_empty() => self.insert(path, "object", optional),
            _ => {}
        }
    }

    fn array(&mut self, path: &str, schema: &Map<String, Value>, optional: bool) {
        if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
            for (index, item) in items.iter().enumerate() {
                self.add(&format!("{path}.{index}"), item, optional);
            }
            return;
        }
        match schema.get("items") {
            Some(items) => self.add(&format!("{path}[]"), items, optional),
            None => self.insert(path, "array", optional),
        }
    }

    /// Adds one part. A path with two shapes, in two alternatives, has both.
    fn insert(&mut self, path: &str, shape: &str, optional: bool) {
        let shape = if optional {
            format!("{shape}{OPTIONAL}")
        } else {
            shape.to_owned()
        };
        self.parts
            .entry(path.to_owned())
            .and_modify(|known| {
                if !known.split(" | ").any(|known| known == shape) {
                    *known = format!("{known} | {shape}");
                }
            })
            .or_insert(shape);
    }
}

/// What tells an alternative from the others.
enum Label {
    /// The one member that it has: an externally tagged variant.
    Member,
    /// The value of a member that is always the same: an internally tagged variant.
    Tag(String),
    None,
}

fn label(schema: &Value) -> Label {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Label::None;
    };
    let tag = properties
        .values()
        .find_map(|property| property.get("const").and_then(Value::as_str));
    match tag {
        Some(tag) => Label::Tag(tag.to_owned()),
        None if properties.len() == 1 => Label::Member,
        None => Label::None,
    }
}

/// Returns the texts of an alternative that is one of several.
fn words(schema: &Value) -> Option<Vec<Value>> {
    if let Some(word) = schema.get("const") {
        return Some(vec![word.clone()]);
    }
    Some(schema.get("enum")?.as_array()?.clone())
}

fn one_of(values: &[Value]) -> String {
    let mut texts: Vec<_> = values.iter().map(Value::to_string).collect();
    texts.sort();
    format!("one of {}", texts.join(" "))
}

/// Returns the types that a value may have, and whether it may be null: a null is not compared, as if it were absent.
fn types(schema: &Map<String, Value>) -> (Vec<String>, bool) {
    let mut types: Vec<String> = match schema.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => {
            let names = several.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let before = types.len();
    types.retain(|name| name != "null" || before == 1);
    let nullable = types.len() < before;
    (types, nullable)
}
