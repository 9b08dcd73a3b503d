//! What a handler registers of its types (feature `schemars`): of the request, what of it is compared, and of the
//! result.

use std::marker::PhantomData;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::Handler;

/// Adds the schema of a type to a generator; `None` if the type has none.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Option<Value>;

/// The types of a handler.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "lock"),
    allow(dead_code, reason = "the lock file reads the rest of it")
)]
#[doc(hidden)]
pub struct HandlerTypes {
    pub(crate) parameters: &'static [Parameter],
    pub(crate) result: SchemaOf,
    pub(crate) compared: ComparedValues,
    /// The present version of the result, the oldest one that is read, and the one that is written.
    pub(crate) versions: [u16; 3],
}

impl HandlerTypes {
    /// Describes the types of a handler.
    pub const fn new(
        parameters: &'static [Parameter],
        result: SchemaOf,
        compared: ComparedValues,
        versions: [u16; 3],
    ) -> Self {
        Self {
            parameters,
            result,
            compared,
            versions,
        }
    }
}

/// What of a request a retry must repeat.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum ComparedValues {
    /// The compared parameters.
    Parameters,
    /// `fingerprint = expr`.
    Expression(&'static str),
    /// `fingerprint = off`.
    Nothing,
}

/// One value of a handler's request: a name that a parameter binds.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    name: &'static str,
    written: &'static str,
    compared: bool,
    schema: SchemaOf,
}

impl Parameter {
    /// Describes a parameter.
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        written: &'static str,
        compared: bool,
        schema: SchemaOf,
    ) -> Self {
        Self {
            name,
            written,
            compared,
            schema,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the type as it is written, or `part of ..` for a name in a pattern.
    pub fn written_type(&self) -> &'static str {
        self.written
    }

    /// Returns whether a retry must repeat the value by itself: neither is it the key, nor is another `fingerprint`
    /// compared.
    pub fn is_compared(&self) -> bool {
        self.compared
    }

    /// Adds the schema of the type to a generator; `None` if the type has none.
    pub(crate) fn schema(&self, schemas: &mut SchemaGenerator) -> Option<Value> {
        (self.schema)(schemas)
    }
}

impl Handler {
    /// Adds the types.
    #[doc(hidden)]
    #[must_use]
    pub const fn typed(mut self, types: HandlerTypes) -> Self {
        self.types = Some(types);
        self
    }

    #[cfg(feature = "lock")]
    pub(crate) fn types(&self) -> Option<&HandlerTypes> {
        self.types.as_ref()
    }

    /// Returns the values of the request, in the order of the signature: all parameters but the transaction or attempt,
    /// keys, and what is in `skip`.
    pub fn parameters(&self) -> &'static [Parameter] {
        self.types.map_or(&[], |types| types.parameters)
    }

    /// Returns a JSON Schema (2020-12) of the request as a caller sends it: an object with a member for each of the
    /// [`parameters`](Self::parameters).
    ///
    /// A parameter may have any value there if its type has no schema: if it does not implement
    /// [`JsonSchema`], in a method, and where the type names a type parameter.
    pub fn request_schema(&self) -> Value {
        let mut schemas = SchemaSettings::draft2020_12()
            .for_deserialize()
            .into_generator();
        let mut properties = Map::new();
        let mut required = Vec::new();
        for parameter in self.parameters() {
            let schema = parameter.schema(&mut schemas).unwrap_or(json!(true));
            if !allows_null(&schema) {
                required.push(parameter.name);
            }
            properties.insert(parameter.name.to_owned(), schema);
        }
        let mut schema = json!({
            "$schema": DRAFT,
            "type": "object",
            "properties": properties,
            "required": required,
        });
        define(&mut schema, &mut schemas);
        schema
    }

    /// Returns a JSON Schema (2020-12) of the result as a caller receives it, or `None` if it has none: see
    /// [`request_schema`](Self::request_schema).
    pub fn result_schema(&self) -> Option<Value> {
        let mut schemas = SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator();
        let result = (self.types?.result)(&mut schemas)?;
        let mut schema = json!({ "$schema": DRAFT });
        match result {
            Value::Object(members) => schema.as_object_mut()?.extend(members),
            // Any value: nothing is to be said of it.
            _ => return Some(schema),
        }
        define(&mut schema, &mut schemas);
        Some(schema)
    }
}

/// Returns whether a value may be null, and therefore absent: an `Option`.
fn allows_null(schema: &Value) -> bool {
    let is_null = |ty: &Value| ty == "null";
    let types = schema.get("type");
    let any_of = schema.get("anyOf").and_then(Value::as_array);
    types.is_some_and(|ty| is_null(ty) || ty.as_array().is_some_and(|all| all.iter().any(is_null)))
        || any_of.is_some_and(|all| all.iter().any(allows_null))
}

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Adds the definitions that a schema refers to.
fn define(schema: &mut Value, schemas: &mut SchemaGenerator) {
    let definitions = schemas.take_definitions(true);
    if let (Some(schema), false) = (schema.as_object_mut(), definitions.is_empty()) {
        schema.insert("$defs".to_owned(), definitions.into());
    }
}

/// A type that may have a schema. Its method is the inherent one if the type is [`JsonSchema`], and otherwise that of
/// [`OpaqueShape`].
#[doc(hidden)]
pub struct Shape<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized> Shape<T> {
    /// Names the type.
    #[expect(clippy::new_without_default, reason = "generated code alone calls it")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: JsonSchema + ?Sized> Shape<T> {
    /// Returns the type's schema.
    pub fn schema(&self, schemas: &mut SchemaGenerator) -> Option<Value> {
        Some(Schema::to_value(schemas.subschema_for::<T>()))
    }
}

/// See [`Shape`].
#[doc(hidden)]
pub trait OpaqueShape {
    /// Returns `None`.
    fn schema(&self, _: &mut SchemaGenerator) -> Option<Value> {
        None
    }
}

impl<T: ?Sized> OpaqueShape for Shape<T> {}
