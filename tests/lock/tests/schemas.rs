//! What the registry says of requests and results.

#![allow(dead_code, reason = "nobody calls the handlers")]

use idem_runtime::registry::{self, Handler};
use idem_runtime::{Error, IdempotencyKey, idempotent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteTransaction;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Line {
    sku: String,
    #[serde(default)]
    count: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Placed {
    number: i64,
    lines: Vec<Line>,
}

/// Has no schema.
#[derive(Serialize, Deserialize)]
struct Opaque;

#[idempotent(namespace = "shop", skip(_clock), marker = PlaceOrder)]
async fn place_order(
    _tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    line: &Line,
    memo: Option<String>,
    _clock: u8,
) -> Result<Placed, Error> {
    let _ = memo;
    let line = Line {
        sku: line.sku.clone(),
        count: line.count,
    };
    Ok(Placed {
        number: 1,
        lines: vec![line],
    })
}

type Answer<T> = Result<T, Error>;

#[idempotent(namespace = "shop", key = id, fingerprint = off, marker = Count)]
async fn count(
    _tx: &mut SqliteTransaction<'_>,
    id: &IdempotencyKey,
    things: Opaque,
    (shelf, _): (u8, u8),
) -> Answer<u32> {
    let _ = (things, shelf);
    Ok(1)
}

#[idempotent(namespace = "shop", key = natural(order), marker = Pack)]
async fn pack(_tx: &mut SqliteTransaction<'_>, order: &str) -> Result<Opaque, Error> {
    let _ = order;
    Ok(Opaque)
}

struct Desk;

impl Desk {
    #[idempotent(namespace = "desk", operation = "desk.close", skip(self))]
    async fn close(
        &self,
        _tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
        line: &Line,
    ) -> Result<Placed, Error> {
        let _ = line;
        Err(Error::LeaseLost)
    }
}

fn parameters(handler: &Handler) -> Vec<(&'static str, &'static str, bool)> {
    let parameters = handler.parameters().iter();
    parameters
        .map(|parameter| {
            (
                parameter.name(),
                parameter.written_type(),
                parameter.is_compared(),
            )
        })
        .collect()
}

#[test]
fn a_request_is_what_its_caller_sends_and_a_result_what_he_gets() {
    let handler = registry::handler_of::<PlaceOrder>().expect("it is linked");
    assert_eq!(
        parameters(handler),
        [("line", "&Line", true), ("memo", "Option<String>", true)]
    );
    let request = handler.request_schema();
    assert_eq!(request["required"], json!(["line"]));
    assert_eq!(
        request["properties"]["line"],
        json!({ "$ref": "#/$defs/Line" })
    );
    assert_eq!(
        request["properties"]["memo"]["type"],
        json!(["string", "null"])
    );
    // A default is for those who send.
    assert_eq!(request["$defs"]["Line"]["required"], json!(["sku"]));
    let result = handler.result_schema().expect("it has one");
    assert_eq!(result["$ref"], "#/$defs/Placed");
    assert_eq!(result["$defs"]["Line"]["required"], json!(["sku", "count"]));
}

#[test]
fn a_key_is_no_part_of_the_request_and_a_type_without_a_schema_may_be_anything() {
    let handler = registry::handler_of::<Count>().expect("it is linked");
    assert_eq!(
        parameters(handler),
        [
            ("things", "Opaque", false),
            ("shelf", "part of (u8, u8)", false)
        ]
    );
    let request = handler.request_schema();
    assert_eq!(
        request["properties"],
        json!({ "things": true, "shelf": true })
    );
    assert_eq!(
        handler.result_schema().expect("through an alias")["type"],
        "integer"
    );
    let pack = registry::handler_of::<Pack>().expect("it is linked");
    assert_eq!(parameters(pack), [("order", "&str", true)]);
    assert_eq!(
        pack.request_schema()["properties"]["order"]["type"],
        "string"
    );
    assert_eq!(pack.result_schema(), None);
}

#[test]
fn of_a_method_the_names_are_known_and_no_types() {
    let close = registry::handler("desk", "desk.close").expect("it is linked");
    assert_eq!(parameters(close), [("line", "&Line", true)]);
    assert_eq!(
        close.request_schema()["properties"],
        json!({ "line": true })
    );
    assert_eq!(close.result_schema(), None::<Value>);
}
