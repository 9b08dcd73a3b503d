//! Keys that are missing or wrong: the model is told of an argument, and the host of its `_meta`. Nothing is done.

use serde_json::{Value, json};

use crate::client::{KEY, call, content, problem, protocol};
use crate::server::Shop;

#[tokio::test]
async fn a_missing_key_is_asked_for_where_it_is_read() {
    let shop = Shop::open().await;
    let model = call("place_order", "tea").send(&shop.client).await;
    let problem = problem(&model.expect("a tool error"));
    assert_eq!(problem["code"], "key-missing");
    let detail = problem["detail"].as_str().expect("text");
    assert!(detail.contains("`idempotency_key`"), "{detail}");
    let host = call("place_by_host", "tea").send(&shop.client).await;
    let host = host.expect_err("a protocol error");
    assert_eq!(protocol(&host), (-32602, "key-missing".to_owned()));
    assert!(host.message.contains(KEY), "{host}");
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn a_wrong_argument_is_a_tool_error_that_names_it() {
    let shop = Shop::open().await;
    let long = "k".repeat(256);
    for (value, said) in [
        (json!(7), "parameter `idempotency_key` is not a string"),
        (Value::Null, "parameter `idempotency_key` is not a string"),
        (json!(""), "key is empty"),
        (json!(long), "key is 256 characters long; the limit is 255"),
    ] {
        for tool in ["place_order", "note"] {
            let call = call(tool, "tea").argument("idempotency_key", value.clone());
            let problem = problem(&call.send(&shop.client).await.expect("a tool error"));
            assert_eq!(problem["code"], "invalid");
            assert_eq!(problem["detail"], said);
        }
    }
    let two = call("place_order", "tea").keyed("a").hosted("b");
    let problem = problem(&two.send(&shop.client).await.expect("a tool error"));
    let detail = problem["detail"].as_str().expect("text");
    assert!(detail.contains("more than once"), "{detail}");
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn a_wrong_member_of_the_meta_is_a_protocol_error_that_names_it() {
    let shop = Shop::open().await;
    for value in [json!(7), json!(""), json!("k".repeat(256))] {
        for tool in ["place_order", "place_by_host"] {
            let call = call(tool, "tea").meta(KEY, value.clone());
            let refused = call.send(&shop.client).await.expect_err("a protocol error");
            assert_eq!(protocol(&refused), (-32602, "invalid".to_owned()));
        }
    }
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn an_argument_that_nothing_reads_is_refused_even_beside_a_key() {
    let shop = Shop::open().await;
    for call in [
        call("place_by_host", "tea").keyed("a"),
        call("place_by_host", "tea").keyed("a").hosted("a"),
    ] {
        let problem = problem(&call.send(&shop.client).await.expect("a tool error"));
        let detail = problem["detail"].as_str().expect("text");
        assert!(detail.contains("is not read: send `_meta[\""), "{detail}");
    }
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn an_argument_beside_a_natural_key_is_refused() {
    let shop = Shop::open().await;
    let keyed = call("ship", "tea").keyed("a").send(&shop.client).await;
    let problem = problem(&keyed.expect("a tool error"));
    assert_eq!(
        problem["detail"],
        "parameter `idempotency_key` is not read: the key is made of the rest of the request, so leave it out"
    );
    assert_eq!(shop.count().await, (0, 0));
    let hosted = call("ship", "tea").hosted("a").send(&shop.client).await;
    assert_eq!(content(&hosted.expect("shipped"))["number"], 1);
}

#[tokio::test]
async fn a_tool_that_was_not_registered_does_nothing() {
    let shop = Shop::open().await;
    let call = call("place_unregistered", "tea").hosted("a");
    let refused = call.send(&shop.client).await.expect_err("refused");
    assert_eq!(refused.code.0, -32603);
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn the_longest_key_is_a_key() {
    let shop = Shop::open().await;
    let long = "k".repeat(255);
    let placed = call("place_order", "tea")
        .keyed(&long)
        .send(&shop.client)
        .await;
    assert_eq!(content(&placed.expect("placed"))["number"], 1);
}
