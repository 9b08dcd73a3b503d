//! Clients: reqwest for what a program sends, curl for header lines as they are.

use std::collections::HashMap;

use reqwest::{Client, RequestBuilder, Response, header::HeaderValue};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::shop::Shop;

/// An order of `item` under `key`, by the tenant `acme`.
pub fn order(shop: &Shop, key: &str, item: &str) -> RequestBuilder {
    order_as(&Client::new(), shop, "acme", key, item)
}

/// The same by another tenant, through a client of the caller's.
pub fn order_as(
    client: &Client,
    shop: &Shop,
    tenant: &str,
    key: &str,
    item: &str,
) -> RequestBuilder {
    client
        .post(format!("{}/orders", shop.url))
        .header("x-tenant", tenant)
        .header("idempotency-key", format!("\"{key}\""))
        .header("content-type", "application/json")
        .body(json!({ "item": item }).to_string())
}

/// A header's value as text.
///
/// # Panics
/// Panics if it is none.
pub fn text(value: &HeaderValue) -> &str {
    value.to_str().expect("text")
}

/// An order of tea with exactly these headers besides its type, at this path.
pub fn tea(shop: &Shop, path: &str, headers: &[(&'static str, &str)]) -> RequestBuilder {
    let request = Client::new()
        .post(format!("{}{path}", shop.url))
        .header("content-type", "application/json")
        .body(r#"{"item":"tea"}"#);
    headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    })
}

/// Sends it.
///
/// # Panics
/// Panics if there is no answer.
pub async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("an answer")
}

/// The problem that a response bears, which is looked at as a client would: status and content type
/// must agree with it.
///
/// # Panics
/// Panics if it is none.
pub async fn problem(response: Response) -> Value {
    let status = response.status().as_u16();
    let content_type = response.headers()["content-type"].clone();
    assert_eq!(content_type, "application/problem+json");
    let link = response.headers()["link"]
        .to_str()
        .expect("text")
        .to_owned();
    let retry_after = response.headers().get("retry-after").cloned();
    let problem: Value =
        serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
    assert_eq!(problem["status"], status);
    for member in ["type", "title", "detail", "code", "documentation"] {
        assert!(
            problem[member]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{problem}"
        );
    }
    let documentation = problem["documentation"].as_str().expect("a URL");
    assert_eq!(
        link,
        format!("<{documentation}>; rel=\"describedby\"; type=\"text/html\"")
    );
    let seconds = retry_after.map(|value| value.to_str().expect("text").to_owned());
    assert_eq!(
        problem["retry_after"].as_u64().map(|s| s.to_string()),
        seconds
    );
    problem
}

/// What curl got for an order of `item` with exactly these header lines: the status, the headers'
/// last values and the body.
///
/// # Panics
/// Panics if there is no answer.
pub async fn curl(
    shop: &Shop,
    path: &str,
    lines: &[&str],
) -> (u16, HashMap<String, String>, String) {
    let mut command = Command::new("curl");
    command
        .args(["--silent", "--show-error", "--include", "--http1.1"])
        .args([
            "--header",
            "content-type: application/json",
            "--header",
            "x-tenant: acme",
        ])
        .args(["--data", r#"{"item":"tea"}"#]);
    for line in lines {
        command.args(["--header", line]);
    }
    let output = command
        .arg(format!("{}{path}", shop.url))
        .output()
        .await
        .expect("curl is there");
    assert!(output.status.success(), "{output:?}");
    let answer = String::from_utf8(output.stdout).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let status = status
        .and_then(|status| status.parse().ok())
        .expect("a status");
    (status, headers, body.to_owned())
}
