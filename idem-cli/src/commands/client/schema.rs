//! Types in TypeScript of JSON schemas.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The names in TypeScript of a document's schemas.
pub(super) struct Types<'d> {
    names: BTreeMap<&'d str, String>,
}

impl<'d> Types<'d> {
    /// Gives each schema a name that is no other's.
    pub(super) fn of(schemas: &'d BTreeMap<String, Value>) -> Self {
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for name in schemas.keys() {
            let mut own = identifier(name);
            while names.values().any(|taken| *taken == own) {
                own.push('_');
            }
            names.insert(name, own);
        }
        Self { names }
    }

    /// Returns whether a schema of the document has this name in TypeScript.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.values().any(|known| known == name)
    }

    /// Returns the declaration of a schema of the document.
    pub(super) fn declaration(&self, name: &str, schema: &Value) -> Result<String, String> {
        let own = &self.names[name];
        let ty = self.of_schema(schema, 0);
        let ty = ty.map_err(|why| format!("the schema `{name}` {why}"))?;
        let comment = comment(schema.get("description").and_then(Value::as_str), "");
        Ok(format!("{comment}export type {own} = {ty};\n"))
    }

    /// Returns the type of a schema. The error continues the sentence "the schema ..".
    pub(super) fn of_schema(&self, schema: &Value, depth: usize) -> Result<String, String> {
        let schema = match schema {
            Value::Bool(true) => return Ok("unknown".to_owned()),
            Value::Bool(false) => return Ok("never".to_owned()),
            Value::Object(schema) => schema,
            _ => return Err("is neither an object nor a boolean".to_owned()),
        };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = referred(reference).and_then(|name| self.names.get(&*name));
            let name = name.ok_or_else(|| format!("refers to `{reference}`, which is not there"));
            return name.cloned();
        }
        if let Some(value) = schema.get("const") {
            return Ok(value.to_string());
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return Ok(joined(values.iter().map(Value::to_string), " | ", "never"));
        }
        for (word, between) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
            if let Some(parts) = schema.get(word).and_then(Value::as_array) {
                let types = parts.iter().map(|part| self.of_schema(part, depth));
                let types = types.collect::<Result<Vec<_>, _>>()?;
                let several = joined(types.into_iter().map(in_parentheses), between, "never");
                // An enum with a tag in a struct: its own members come besides.
                return if schema.contains_key("properties") {
                    Ok(format!("({several}) & {}", self.object(schema, depth)?))
                } else {
                    Ok(several)
                };
            }
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.of_type(name, schema, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                let types = names.map(|name| self.of_type(name, schema, depth));
                let types = types.collect::<Result<Vec<_>, _>>()?;
                Ok(joined(types.into_iter(), " | ", "never"))
            }
            _ if schema.contains_key("properties") => self.object(schema, depth),
            _ => Ok("unknown".to_owned()),
        }
    }

    fn of_type(
        &self,
        name: &str,
        schema: &Map<String, Value>,
        depth: usize,
    ) -> Result<String, String> {
        Ok(match name {
            "string" => "string".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => self.array(schema, depth)?,
            "object" => self.object(schema, depth)?,
            other => return Err(format!("has the unknown type `{other}`")),
        })
    }

    fn array(&self, schema: &Map<String, Value>, depth: usize) -> Result<String, String> {
        // A tuple, in draft 2020-12 and in draft 7.
        let tuple = schema.get("prefixItems").or(schema.get("items"));
        if let Some(items) = tuple.and_then(Value::as_array) {
            let types = items.iter().map(|item| self.of_schema(item, depth));
            let types = types.collect::<Result<Vec<_>, _>>()?;
            return Ok(format!("[{}]", types.join(", ")));
        }
        let items = schema.get("items").unwrap_or(&Value::Bool(true));
        Ok(format!("Array<{}>", self.of_schema(items, depth)?))
    }

    fn object(&self, schema: &Map<String, Value>, depth: usize) -> Result<String, String> {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.unwrap_or(&empty);
        let required = schema.get("required").and_then(Value::as_array);
        let members: Vec<Member<'_>> = properties
            .iter()
            .map(|(name, schema)| Member {
                name,
                schema,
                required: required.is_some_and(|all| all.iter().any(|other| other == name)),
            })
            .collect();
        let own = (!members.is_empty()).then(|| self.members(&members, depth));
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => members
                .is_empty()
                .then(|| Ok("Record<string, never>".to_owned())),
            Some(others @ Value::Object(_)) => Some(
                self.of_schema(others, depth)
                    // Not `Record`: a type may not refer to itself by an alias.
                    .map(|others| format!("{{ [key: string]: {others} }}")),
            ),
            _ => members
                .is_empty()
                .then(|| Ok("Record<string, unknown>".to_owned())),
        };
        let parts = own
            .into_iter()
            .chain(others)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(parts.join(" & "))
    }

    /// Returns the type of an object with these members.
    pub(super) fn members(&self, members: &[Member<'_>], depth: usize) -> Result<String, String> {
        let indent = "  ".repeat(depth + 1);
        let mut text = "{\n".to_owned();
        for Member {
            name,
            schema,
            required,
        } in members
        {
            let ty = self.of_schema(schema, depth + 1)?;
            let absence = if *required { "" } else { "?" };
            let description = schema.get("description").and_then(Value::as_str);
            text.push_str(&comment(description, &indent));
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{indent}{}{absence}: {ty};", property(name));
        }
        text.push_str(&"  ".repeat(depth));
        text.push('}');
        Ok(text)
    }
}

/// Returns the name of the schema that a reference names: it is a JSON pointer in a fragment (RFC 6901, section 6).
fn referred(reference: &str) -> Option<Cow<'_, str>> {
    let name = reference.strip_prefix("#/components/schemas/")?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    if name.contains('~') {
        return Some(name.replace("~1", "/").replace("~0", "~").into());
    }
    Some(name)
}

/// A member of an object.
pub(super) struct Member<'s> {
    pub(super) name: &'s str,
    pub(super) schema: &'s Value,
    pub(super) required: bool,
}

fn joined(parts: impl Iterator<Item = String>, between: &str, none: &str) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        return none.to_owned();
    }
    parts.join(between)
}

fn in_parentheses(ty: String) -> String {
    if ty.contains(" | ") || ty.contains(" & ") {
        format!("({ty})")
    } else {
        ty
    }
}

/// Returns a comment of documentation.
pub(super) fn comment(text: Option<&str>, indent: &str) -> String {
    let Some(text) = text else {
        return String::new();
    };
    let text = text.replace("*/", "*\\/");
    let lines: Vec<_> = text.lines().collect();
    match lines[..] {
        [] => String::new(),
        [one] => format!("{indent}/** {one} */\n"),
        _ => {
            let lines = lines
                .iter()
                .map(|line| format!("{indent} * {line}").trim_end().to_owned());
            let lines: Vec<_> = lines.collect();
            format!("{indent}/**\n{}\n{indent} */\n", lines.join("\n"))
        }
    }
}

/// Returns the name of a type: the words of the text, each with a capital.
pub(super) fn identifier(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut name: String = words
        .filter_map(|word| {
            let mut letters = word.chars();
            let first = letters.next()?;
            Some(first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, 'T');
    }
    name
}

/// Returns the name of a member, in quotes if it is no identifier.
pub(super) fn property(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if !name.is_empty()
        && name.chars().all(is_word)
        && !name.starts_with(|c: char| c.is_ascii_digit())
    {
        return name.to_owned();
    }
    Value::from(name).to_string()
}
