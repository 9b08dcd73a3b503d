//! The document.

use idem_runtime::http::CODES as PROBLEMS;
use idem_runtime::meta::MetaNames;
use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use crate::key::Presence;
use crate::method::{KeyUse, Method};
use crate::refusal::CODES;

/// The version of the specification.
const OPENRPC: &str = "1.3.2";

/// Returns the document of the methods that are described.
pub(super) fn of(methods: &[Method], names: &MetaNames, title: &str, version: &str) -> Value {
    let mut definitions = Definitions::new();
    let mut methods: Vec<&Method> = methods.iter().collect();
    methods.sort_by_key(|method| method.name);
    let mut described: Vec<Value> = methods
        .into_iter()
        .filter_map(|known| method(known, names, &mut definitions))
        .collect();
    let results = described
        .iter_mut()
        .filter_map(|method| method.pointer_mut("/result/schema"));
    let schemas = definitions.finish(results);
    json!({
        "openrpc": OPENRPC,
        "info": { "title": title, "version": version },
        "methods": described,
        "components": { "schemas": schemas },
    })
}

fn method(method: &Method, names: &MetaNames, definitions: &mut Definitions) -> Option<Value> {
    let schemas = method.schemas?;
    let params = members((schemas.params)(&mut definitions.params)).ok()?;
    let params: Vec<Value> = params
        .into_iter()
        .map(|member| {
            json!({ "name": member.name, "required": member.required, "schema": member.schema })
        })
        .collect();
    let result = (schemas.result)(&mut definitions.results);
    let mut described = Map::new();
    let mut insert = |name: &str, value: Value| described.insert(name.to_owned(), value);
    insert("name", method.name.into());
    if let Some(summary) = &method.summary {
        insert("summary", summary.as_str().into());
    }
    insert("paramStructure", "by-name".into());
    insert("params", params.into());
    insert("result", json!({ "name": "result", "schema": result }));
    if let Some(key_use) = method.key_use {
        insert("idempotent", true.into());
        insert("x-idempotency", extension(key_use, names));
        insert("errors", errors());
    }
    Some(described.into())
}

fn extension(key_use: KeyUse, names: &MetaNames) -> Value {
    let retention = key_use.retention.as_secs();
    match key_use.presence {
        Presence::InRequest => json!({ "key": "in-request", "retention": retention }),
        presence => json!({
            "key": if presence == Presence::Required { "required" } else { "optional" },
            "member": names.idempotency_key(),
            "replayed": names.replayed(),
            "retention": retention,
        }),
    }
}

/// Returns the error objects that are of this library alone. Those with the specification's own codes go without saying.
fn errors() -> Value {
    let own = CODES
        .iter()
        .filter(|(_, code)| *code > -32100 && *code <= -32000);
    own.map(|(name, code)| {
        let status = PROBLEMS.iter().find(|(known, _)| known == name);
        let status = status.map_or(500, |(_, status)| *status);
        json!({ "code": code, "message": name, "data": { "code": name, "status": status } })
    })
    .collect()
}

/// A parameter by name.
pub(super) struct Member {
    name: String,
    schema: Value,
    required: bool,
}

/// Returns the members of parameters. The error continues the sentence "the parameters of `m` ..".
pub(super) fn members(params: Value) -> Result<Vec<Member>, &'static str> {
    let Value::Object(mut schema) = params else {
        return Err("have no schema");
    };
    if schema.get("type").is_some_and(|ty| ty == "null") {
        return Ok(Vec::new());
    }
    if schema.get("type").is_none_or(|ty| ty != "object")
        || ["oneOf", "anyOf", "allOf", "$ref"]
            .iter()
            .any(|word| schema.contains_key(*word))
    {
        return Err("are no object whose members are known by name");
    }
    let required = match schema.remove("required") {
        Some(Value::Array(required)) => required,
        _ => Vec::new(),
    };
    let properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let is_required = |name: &str| required.iter().any(|known| known == name);
    Ok(properties
        .into_iter()
        .map(|(name, schema)| Member {
            required: is_required(&name),
            name,
            schema,
        })
        .collect())
}
