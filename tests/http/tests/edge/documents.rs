//! What browsers and readers of an OpenAPI document are told.

use std::time::Duration;

use idem_runtime::http::cors;
use idem_runtime::http::openapi::{KeyHeader, OptionalKeyHeader, Presence, Refusals, describe};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::client::{order, send};
use crate::shop::{Shop, text};

#[tokio::test]
async fn a_browser_may_send_the_key_and_read_the_replay() {
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::any())
        .allow_methods([Method::POST])
        .allow_headers(cors::ALLOW_HEADERS)
        .expose_headers(cors::EXPOSE_HEADERS);
    let shop = Shop::open_with(|routes| routes.layer(layer)).await;
    let preflight = Client::new()
        .request(Method::OPTIONS, format!("{}/orders", shop.url))
        .header("origin", "https://shop.example.com")
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "content-type,idempotency-key",
        );
    let preflight = send(preflight).await;
    let allowed = text(&preflight.headers()["access-control-allow-headers"]).to_owned();
    for name in ["idempotency-key", "x-idempotency-key", "content-type"] {
        assert!(
            allowed.split(',').any(|allowed| allowed.trim() == name),
            "{allowed}"
        );
    }
    let answer = send(order(&shop, "a", "tea").header("origin", "https://shop.example.com")).await;
    let exposed = text(&answer.headers()["access-control-expose-headers"]);
    for name in ["idempotent-replayed", "retry-after", "location", "link"] {
        assert!(
            exposed.split(',').any(|exposed| exposed.trim() == name),
            "{exposed}"
        );
    }
}

/// A handler's documentation as its user writes it.
#[utoipa::path(
    post,
    path = "/orders",
    params(KeyHeader),
    responses((status = 201, description = "placed"), Refusals)
)]
#[expect(dead_code, reason = "only its document is looked at")]
fn documented() {}

#[utoipa::path(post, path = "/notes", params(OptionalKeyHeader), responses(Refusals))]
#[expect(dead_code, reason = "only its document is looked at")]
fn optional() {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(documented, optional))]
struct Document;

#[test]
fn a_document_tells_of_the_header_the_refusals_and_their_shape() {
    let document = serde_json::to_value(<Document as utoipa::OpenApi>::openapi()).expect("JSON");
    let operation = &document["paths"]["/orders"]["post"];
    let parameter = &operation["parameters"][0];
    assert_eq!(parameter["name"], "Idempotency-Key");
    assert_eq!(
        (&parameter["in"], &parameter["required"]),
        (&json!("header"), &json!(true))
    );
    assert_eq!(parameter["schema"]["maxLength"], 255);
    for status in ["400", "409", "422", "503"] {
        let content = &operation["responses"][status]["content"]["application/problem+json"];
        let members = &content["schema"]["properties"];
        for member in ["type", "title", "status", "detail", "code", "documentation"] {
            assert!(members[member].is_object(), "{status}, {member}: {content}");
        }
    }
    assert!(operation["responses"]["409"]["headers"]["Retry-After"].is_object());
    let optional = &document["paths"]["/notes"]["post"]["parameters"][0];
    assert_eq!(optional["required"], json!(false));
}

#[test]
fn a_described_operation_says_how_long_a_key_is_remembered_and_marks_replays() {
    let mut document = <Document as utoipa::OpenApi>::openapi();
    let path = document.paths.paths.get_mut("/orders").expect("a path");
    let operation = path.post.as_mut().expect("an operation");
    operation.parameters = None;
    describe(operation, Presence::Required, Duration::from_hours(1));
    let operation = serde_json::to_value(&*operation).expect("JSON");
    let description = |value: &Value| value.as_str().expect("text").to_owned();
    assert!(description(&operation["parameters"][0]["description"]).contains("3600 seconds"));
    assert!(operation["responses"]["201"]["headers"]["Idempotent-Replayed"].is_object());
    assert!(operation["responses"]["422"]["headers"]["Idempotent-Replayed"].is_null());
}
