//! The OpenRPC document.

use idem_tests_jsonrpc::Shop;
use serde_json::{Value, json};

use crate::client::{call, send};

fn method<'d>(document: &'d Value, name: &str) -> &'d Value {
    let methods = document["methods"].as_array().expect("methods");
    let found = methods.iter().find(|method| method["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {document}"))
}

#[tokio::test]
async fn the_document_marks_exactly_the_methods_that_are_idempotent() {
    let shop = Shop::open().await;
    let document = &shop.openrpc;
    assert_eq!(document["openrpc"], "1.3.2");
    assert_eq!(
        document["info"],
        json!({ "title": "Shop", "version": "1.0.0" })
    );
    let methods = document["methods"].as_array().expect("methods");
    let names: Vec<_> = methods.iter().map(|method| &method["name"]).collect();
    assert_eq!(
        names,
        [
            "mail.send",
            "orders.count",
            "orders.place",
            "orders.reserve"
        ]
    );

    let placing = method(document, "orders.place");
    assert_eq!(placing["idempotent"], true);
    assert_eq!(
        placing["x-idempotency"],
        json!({
            "key": "required",
            "member": "dev.idem/idempotencyKey",
            "replayed": "dev.idem/idempotentReplayed",
            "retention": 86400,
        })
    );
    let reserve = method(document, "orders.reserve");
    assert_eq!(
        reserve["x-idempotency"],
        json!({ "key": "in-request", "retention": 86400 })
    );
    let count = method(document, "orders.count");
    assert!(count["idempotent"].is_null() && count["x-idempotency"].is_null());
    assert_eq!(count["params"], json!([]));
    assert_eq!(count["summary"], "Counts the orders.");
}

#[tokio::test]
async fn parameters_and_results_have_their_schemas() {
    let shop = Shop::open().await;
    let placing = method(&shop.openrpc, "orders.place");
    assert_eq!(placing["paramStructure"], "by-name");
    let item = &placing["params"][0];
    assert_eq!(
        (&item["name"], &item["required"]),
        (&json!("item"), &json!(true))
    );
    assert_eq!(item["schema"]["type"], "string");
    assert_eq!(placing["params"][1]["required"], false);
    assert_eq!(
        placing["result"]["schema"]["$ref"],
        "#/components/schemas/Placed"
    );
    let placed = &shop.openrpc["components"]["schemas"]["Placed"];
    assert_eq!(placed["required"], json!(["number", "item", "history"]));
    let errors = placing["errors"].as_array().expect("errors");
    let codes: Vec<_> = errors.iter().map(|error| &error["code"]).collect();
    assert!(
        codes.contains(&&json!(-32040)) && !codes.contains(&&json!(-32602)),
        "{codes:?}"
    );
}

/// The client in TypeScript is generated of this file, and tested against this service.
#[tokio::test]
async fn the_document_is_the_one_that_the_client_is_generated_of() {
    let shop = Shop::open().await;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = format!("{root}/clients/typescript/test/rpc/openrpc.json");
    let text = serde_json::to_string_pretty(&shop.openrpc).expect("JSON") + "\n";
    if std::env::var_os("IDEM_PAGES").is_some_and(|mode| mode == "overwrite") {
        std::fs::write(&path, &text).expect("written");
    }
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, blessed, "IDEM_PAGES=overwrite writes {path}");
}

#[tokio::test]
async fn a_server_hands_out_its_document() {
    let shop = Shop::open().await;
    let asked = send(&shop, &call("rpc.discover", None, json!({}))).await;
    assert_eq!(asked["result"], shop.openrpc);
}
