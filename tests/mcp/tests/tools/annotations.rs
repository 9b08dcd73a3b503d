//! What a host reads of the tools.

use std::collections::BTreeMap;

use serde_json::json;

use crate::server::Shop;

#[tokio::test]
async fn the_hint_is_true_only_where_the_same_arguments_have_the_same_key() {
    let shop = Shop::open().await;
    let tools = shop.client.list_all_tools().await.expect("the tools");
    let hints: BTreeMap<_, _> = tools
        .iter()
        .map(|tool| {
            let hint = tool.annotations.as_ref();
            (&*tool.name, hint.and_then(|all| all.idempotent_hint))
        })
        .collect();
    let expected = [
        ("decline", Some(true)),
        // The key is optional: without it the same arguments have a further effect.
        ("note", Some(false)),
        ("place_order", Some(true)),
        // The key can come only by `_meta`.
        ("place_by_host", Some(false)),
        ("place_described", Some(true)),
        ("place_unregistered", None),
        ("send", Some(true)),
        // The key is made of the arguments.
        ("ship", Some(true)),
    ];
    assert_eq!(hints, expected.into());
}

#[tokio::test]
async fn the_argument_is_in_the_schema_of_the_tools_that_have_it() {
    let shop = Shop::open().await;
    let tools = shop.client.list_all_tools().await.expect("the tools");
    let schema = |name: &str| {
        let tool = tools.iter().find(|tool| tool.name == name);
        tool.expect("listed").input_schema.clone()
    };
    for (name, required) in [
        ("place_order", json!(["item", "idempotency_key"])),
        ("note", json!(["item"])),
    ] {
        let schema = schema(name);
        assert_eq!(schema["required"], required);
        let argument = &schema["properties"]["idempotency_key"];
        assert_eq!(argument["type"], "string");
        assert_eq!(argument["maxLength"], 255);
    }
    for name in ["place_by_host", "ship"] {
        assert!(schema(name)["properties"].get("idempotency_key").is_none());
    }
}
