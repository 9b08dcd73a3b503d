//! By reqwest, as a JSON-RPC client over HTTP.

use reqwest::Client;
use serde_json::{Value, json};

use super::Answer;

pub(crate) async fn pay(url: &str, key: Option<&str>, cents: i64) -> Answer {
    let mut params = json!({ "account": 17, "cents": cents });
    if let Some(key) = key {
        params["_meta"] = json!({ "dev.idem/idempotencyKey": key });
    }
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "payments.create", "params": params });
    let response = Client::new()
        .post(url)
        .header("authorization", "Bearer acme")
        .header("content-type", "application/json")
        .body(call.to_string())
        .send()
        .await
        .expect("an answer");
    let text = response.text().await.expect("a body");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    if let Some(result) = answer.get("result") {
        Answer::Paid {
            id: result["id"].clone(),
            replayed: result["_meta"]["dev.idem/idempotentReplayed"] == json!(true),
        }
    } else {
        let code = answer["error"]["data"]["code"].as_str();
        Answer::refused(code.unwrap_or_else(|| panic!("no problem: {text}")))
    }
}
