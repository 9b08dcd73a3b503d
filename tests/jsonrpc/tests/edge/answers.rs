//! What calls are answered.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests_jsonrpc::Shop;
use serde_json::{Value, json};

use crate::client::{call, order, refusal, request, send, text};

#[tokio::test]
async fn a_replay_is_the_first_result_and_says_so_in_its_meta() {
    let shop = Shop::open().await;
    let first = text(request(&shop, &order("a", "tea"))).await;
    assert_eq!(
        first,
        r#"{"jsonrpc":"2.0","id":1,"result":{"number":1,"item":"tea","history":[]}}"#
    );
    let again = text(request(&shop, &order("a", "tea"))).await;
    let meta = r#","_meta":{"dev.idem/idempotentReplayed":true}"#;
    assert_eq!(again, first.replace("[]}", &format!("[]{meta}}}")));
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_result_that_is_no_object_is_the_same_in_a_replay() {
    let shop = Shop::open().await;
    let note = call("orders.note", Some("n"), json!({ "a": 1 }));
    let first = text(request(&shop, &note)).await;
    assert_eq!(first, r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
    assert_eq!(text(request(&shop, &note)).await, first);
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn what_meta_says_besides_is_not_compared() {
    let shop = Shop::open().await;
    let mut note = call("orders.note", Some("n"), json!({ "a": 1 }));
    send(&shop, &note).await;
    note["params"]["_meta"]["progressToken"] = json!(7);
    assert_eq!(send(&shop, &note).await["result"], 1);
    // The handler, which compares all that it gets, has not seen it.
    let item: String = sqlx::query_scalar("SELECT item FROM orders")
        .fetch_one(&shop.pool)
        .await
        .expect("an order");
    assert_eq!(item, r#"{"a":1}"#);
    note["params"]["a"] = json!(2);
    assert_eq!(refusal(&send(&shop, &note).await), (-32041, "mismatch"));
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_call_without_a_key_is_refused_where_one_is_required() {
    let shop = Shop::open().await;
    let refused = send(&shop, &call("orders.place", None, json!({ "item": "tea" }))).await;
    assert_eq!(refusal(&refused), (-32602, "key-missing"));
    assert_eq!(
        refused["error"]["data"]["detail"],
        "orders.place needs a key in `params._meta[\"dev.idem/idempotencyKey\"]`, and the call has none"
    );
    assert_eq!(refused["error"]["data"]["status"], 400);
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn an_optional_key_may_be_absent_but_not_unacceptable() {
    let shop = Shop::open().await;
    let note = |key| call("orders.note", key, json!({ "a": 1 }));
    assert_eq!(send(&shop, &note(None)).await["result"], 1);
    assert_eq!(send(&shop, &note(None)).await["result"], 2);
    assert_eq!(shop.count().await, (2, 0));
    assert_eq!(
        refusal(&send(&shop, &note(Some(" "))).await),
        (-32602, "invalid")
    );
    assert_eq!(shop.count().await, (2, 0));
}

#[tokio::test]
async fn a_duplicate_of_a_running_call_is_told_when_to_come_back() {
    let shop = Shop::open().await;
    let gate = Gate::at("rpc-running", GatePoint::AfterWrite);
    let first = tokio::spawn(request(&shop, &order("rpc-running", "tea")).send());
    gate.entered().await;
    let refused = send(&shop, &order("rpc-running", "tea")).await;
    assert_eq!(refusal(&refused), (-32040, "in-flight"));
    let seconds = refused["error"]["data"]["retry_after"].as_u64();
    assert!(seconds.is_some_and(|seconds| seconds >= 1), "{refused}");
    gate.open();
    first.await.expect("no panic").expect("an answer");
    let again = send(&shop, &order("rpc-running", "tea")).await;
    assert_eq!(again["result"]["number"], 1);
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn another_request_under_a_used_key_is_refused_and_shows_nothing_of_the_first() {
    let shop = Shop::open().await;
    send(&shop, &order("used", "secret tea")).await;
    let refused = send(&shop, &order("used", "coffee")).await;
    assert_eq!(refusal(&refused), (-32041, "mismatch"));
    assert!(!refused.to_string().contains("secret"), "{refused}");
    assert!(refused["error"]["data"]["retry_after"].is_null());
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_recorded_failure_is_the_services_own_error_again() {
    let shop = Shop::open().await;
    let first = send(&shop, &order("gone", "unicorn")).await;
    assert_eq!(
        first["error"],
        json!({ "code": 1, "message": "unicorn is sold out" })
    );
    assert_eq!(send(&shop, &order("gone", "unicorn")).await, first);
    assert_eq!(shop.count().await, (0, 1));
}

#[tokio::test]
async fn an_outcome_that_nobody_knows_is_said_to_be_unknown() {
    let shop = Shop::open().await;
    let mail = call("mail.send", Some("m"), json!({ "item": "nobody" }));
    // The body's panic is the call's, so there may be no answer.
    let _ = request(&shop, &mail).send().await;
    let refused = send(&shop, &mail).await;
    assert_eq!(refusal(&refused), (-32043, "outcome-unknown"));
}

#[tokio::test]
async fn without_its_store_a_call_is_refused() {
    let shop = Shop::open().await;
    shop.pool.close().await;
    let refused = send(&shop, &order("a", "tea")).await;
    assert_eq!(refusal(&refused), (-32045, "unavailable"));
    assert_eq!(refused["error"]["data"]["retry_after"], 1);
    assert_eq!(refused["error"]["data"]["status"], 503);
}

#[tokio::test]
async fn two_tenants_with_one_key_do_not_meet_and_a_key_without_a_tenant_is_nobodys() {
    let shop = Shop::open().await;
    send(&shop, &order("same", "tea")).await;
    let other = request(&shop, &order("same", "coffee"));
    let mut other = other.build().expect("a request");
    other
        .headers_mut()
        .insert("x-tenant", "globex".parse().expect("a value"));
    let client = reqwest::Client::new();
    client.execute(other).await.expect("an answer");
    assert_eq!(shop.count().await, (2, 2));
    let nobody = client
        .post(shop.url())
        .header("content-type", "application/json")
        .body(order("same", "tea").to_string());
    let refused: Value = serde_json::from_str(&text(nobody).await).expect("JSON");
    assert_eq!(refusal(&refused), (-32603, "internal"));
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn parameters_that_are_refused_leave_the_key_fresh() {
    let shop = Shop::open().await;
    let wrong = call("orders.place", Some("a"), json!({ "thing": "tea" }));
    let refused = send(&shop, &wrong).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(shop.count().await, (0, 0));
    assert_eq!(send(&shop, &order("a", "tea")).await["result"]["number"], 1);
}

#[tokio::test]
async fn a_handler_with_a_natural_key_needs_no_other() {
    let shop = Shop::open().await;
    let reserve = call("orders.reserve", None, json!({ "item": "tea" }));
    assert_eq!(send(&shop, &reserve).await["result"]["number"], 1);
    let again = send(&shop, &reserve).await;
    assert_eq!(again["result"]["number"], 1);
    assert_eq!(
        again["result"]["_meta"],
        json!({ "dev.idem/idempotentReplayed": true })
    );
    assert_eq!(shop.count().await, (1, 1));
}
