//! By reqwest.

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::Answer;

pub(crate) async fn pay(url: &str, key: Option<&str>, cents: i64) -> Answer {
    let mut request = Client::new()
        .post(format!("{url}/payments"))
        .header("authorization", "Bearer acme")
        .header("content-type", "application/json")
        .body(json!({ "account": 17, "cents": cents }).to_string());
    if let Some(key) = key {
        request = request.header("idempotency-key", format!("\"{key}\""));
    }
    let response = request.send().await.expect("an answer");
    let is_paid = response.status() == StatusCode::CREATED;
    let replayed = response.headers().contains_key("idempotent-replayed");
    let text = response.text().await.expect("a body");
    let body: Value = serde_json::from_str(&text).expect("JSON");
    if is_paid {
        let id = body["id"].clone();
        Answer::Paid { id, replayed }
    } else {
        Answer::refused(body["code"].as_str().expect("a problem"))
    }
}
