//! The key in `params._meta`.

use idem_jsonrpc::{MetaNames, Syntax};
use idem_tests_jsonrpc::Shop;
use serde_json::{Value, json};

use crate::client::{KEY, call, parsed, refusal, request, send, text};

const ELARION: &str = "dev.wimmesberger.elarion/idempotencyKey";

fn with_meta(meta: &Value) -> Value {
    call(
        "orders.place",
        None,
        json!({ "item": "tea", "_meta": meta }),
    )
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_by_its_field_and_limit() {
    let shop = Shop::open().await;
    for (meta, detail) in [
        (
            json!({ KEY: "k".repeat(256) }),
            "key is 256 characters long; the limit is 255",
        ),
        (json!({ KEY: "" }), "key is empty"),
        (
            json!({ KEY: "a\nb" }),
            "key has the control character U+000A at character 1",
        ),
        (
            json!({ KEY: 7 }),
            "member `_meta[\"dev.idem/idempotencyKey\"]` is not a string",
        ),
        (
            json!({ KEY: null }),
            "member `_meta[\"dev.idem/idempotencyKey\"]` is not a string",
        ),
        (json!(["k"]), "parameter `_meta` is not an object"),
        (json!("k"), "parameter `_meta` is not an object"),
    ] {
        let refused = send(&shop, &with_meta(&meta)).await;
        assert_eq!(refusal(&refused), (-32602, "invalid"));
        assert_eq!(refused["error"]["data"]["detail"], detail);
    }
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn a_key_that_is_said_twice_is_refused() {
    let shop = Shop::open().await;
    for params in [
        r#"{"item":"tea","_meta":{"dev.idem/idempotencyKey":"a"},"_meta":{"dev.idem/idempotencyKey":"b"}}"#,
        r#"{"item":"tea","_meta":{"dev.idem/idempotencyKey":"a","dev.idem/idempotencyKey":"b"}}"#,
        r#"{"item":"tea","\u005fmeta":{"dev.idem/idempotencyKey":"a"},"_meta":{}}"#,
    ] {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"orders.place","params":{params}}}"#);
        let refused = text(request(&shop, &json!(null)).body(body)).await;
        let refused = parsed(&refused);
        assert_eq!(refusal(&refused), (-32602, "invalid"));
        let detail = refused["error"]["data"]["detail"].as_str();
        assert!(
            detail.is_some_and(|detail| detail.contains("more than once")),
            "{refused}"
        );
    }
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn elarions_name_is_accepted_and_the_same_key_is_the_same() {
    let shop = Shop::open().await;
    assert_eq!(
        send(&shop, &with_meta(&json!({ ELARION: "k" }))).await["result"]["number"],
        1
    );
    let again = send(&shop, &with_meta(&json!({ KEY: "k" }))).await;
    assert_eq!(
        again["result"]["_meta"]["dev.idem/idempotentReplayed"],
        true
    );
    let both = send(&shop, &with_meta(&json!({ KEY: "k", ELARION: "l" }))).await;
    assert_eq!(refusal(&both), (-32602, "invalid"));
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_service_has_names_of_its_own() {
    let shop = Shop::open_with(MetaNames::of("com.example"), Syntax::Lenient).await;
    let refused = send(&shop, &with_meta(&json!({ KEY: "k", ELARION: "k" }))).await;
    assert_eq!(refusal(&refused), (-32602, "key-missing"));
    assert!(
        refused.to_string().contains("com.example/idempotencyKey"),
        "{refused}"
    );
    let order = with_meta(&json!({ "com.example/idempotencyKey": "k" }));
    send(&shop, &order).await;
    let again = send(&shop, &order).await;
    assert_eq!(
        again["result"]["_meta"],
        json!({ "com.example/idempotentReplayed": true })
    );
}

#[tokio::test]
async fn a_query_takes_no_key_and_does_not_look_at_one() {
    let shop = Shop::open().await;
    for params in [json!(null), json!({}), json!({ "_meta": { KEY: "" } })] {
        let mut count = call("orders.count", None, json!({}));
        count["params"] = params;
        assert_eq!(send(&shop, &count).await["result"], 0);
    }
    let without = json!({ "jsonrpc": "2.0", "id": 1, "method": "orders.count" });
    assert_eq!(send(&shop, &without).await["result"], 0);
}

#[tokio::test]
async fn parameters_by_position_have_no_place_for_a_key() {
    let shop = Shop::open().await;
    let mut order = call("orders.place", None, json!({}));
    order["params"] = json!(["tea"]);
    assert_eq!(refusal(&send(&shop, &order).await), (-32602, "key-missing"));
    let keyed = request(&shop, &order).header("idempotency-key", "k");
    assert_eq!(parsed(&text(keyed).await)["result"]["item"], "tea");
    assert_eq!(shop.count().await, (1, 1));
}
