//! Clients: reqwest for what a program sends, curl as a person would.

use idem_tests_jsonrpc::Shop;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

/// The name of the key by default.
pub(crate) const KEY: &str = "dev.idem/idempotencyKey";

/// A call with the id 1. A key goes into `_meta`.
pub(crate) fn call(method: &str, key: Option<&str>, mut params: Value) -> Value {
    if let Some(key) = key {
        params["_meta"] = json!({ KEY: key });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// An order of `item` under `key`.
pub(crate) fn order(key: &str, item: &str) -> Value {
    call("orders.place", Some(key), json!({ "item": item }))
}

/// A request by the tenant `acme`.
pub(crate) fn request(shop: &Shop, body: &Value) -> RequestBuilder {
    Client::new()
        .post(shop.url())
        .header("x-tenant", "acme")
        .header("content-type", "application/json")
        .body(body.to_string())
}

/// Sends the request, and returns the text of the response.
pub(crate) async fn text(request: RequestBuilder) -> String {
    let response = request.send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    response.text().await.expect("text")
}

/// Sends a body, and returns the response.
pub(crate) async fn send(shop: &Shop, body: &Value) -> Value {
    parsed(&text(request(shop, body)).await)
}

pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The code of the error object, and that of the problem in its data, which must agree with each other.
#[track_caller]
pub(crate) fn refusal(response: &Value) -> (i64, &str) {
    let error = &response["error"];
    let data = &error["data"];
    assert_eq!(error["message"], data["title"], "{response}");
    let code = data["code"].as_str();
    let code = code.unwrap_or_else(|| panic!("no refusal: {response}"));
    (error["code"].as_i64().expect("a code"), code)
}
