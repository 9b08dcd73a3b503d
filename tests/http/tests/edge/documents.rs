//! What browsers and readers of an OpenAPI document are told.

use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use idem_axum::openapi::{
    IdempotencyAddon, KeyHeader, LayerRefusals, OptionalKeyHeader, Presence, Refusals, describe,
};
use idem_axum::{HttpPolicy, InFlightAnswer, Syntax, cors};
use idem_runtime::{IdempotencyKey, idempotent};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use sqlx::SqliteTransaction;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use utoipa::Modify;

use crate::shop::{Shop, text};
use idem_tests_http::client::{order, send};
use idem_tests_http::desk::OrderError;

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

/// A preflight names all headers that the page is going to send; one that is missing in the answer fails the call.
#[tokio::test]
async fn a_page_that_sends_a_token_passes_its_preflight_if_the_service_adds_that_header() {
    let with_token = AllowHeaders::list(cors::ALLOW_HEADERS.into_iter().chain([AUTHORIZATION]));
    for (headers, allows) in [(cors::ALLOW_HEADERS.into(), false), (with_token, true)] {
        let layer = CorsLayer::new()
            .allow_origin(AllowOrigin::any())
            .allow_methods([Method::POST])
            .allow_headers(headers);
        let shop = Shop::open_with(|routes| routes.layer(layer)).await;
        let preflight = Client::new()
            .request(Method::OPTIONS, format!("{}/orders", shop.url))
            .header("origin", "https://shop.example.com")
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "authorization,content-type,idempotency-key",
            );
        let answer = send(preflight).await;
        let allowed = text(&answer.headers()["access-control-allow-headers"]);
        let mut allowed = allowed.split(',').map(str::trim);
        assert_eq!(allowed.any(|name| name == "authorization"), allows);
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
    // The longest key has quotes and parameters besides, of which no length can speak.
    let pattern = parameter["schema"]["pattern"].as_str().expect("a pattern");
    assert_eq!(pattern, Syntax::Lenient.pattern());
    for status in ["400", "409", "422", "500", "503"] {
        let content = &operation["responses"][status]["content"]["application/problem+json"];
        let members = &content["schema"]["properties"];
        for member in ["type", "title", "status", "detail", "code", "documentation"] {
            assert!(members[member].is_object(), "{status}, {member}: {content}");
        }
    }
    for status in ["409", "503"] {
        assert!(operation["responses"][status]["headers"]["Retry-After"].is_object());
    }
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
    // A recorded failure is a replay too.
    assert!(operation["responses"]["422"]["headers"]["Idempotent-Replayed"].is_object());
    assert!(operation["responses"]["409"]["headers"]["Idempotent-Replayed"].is_null());
}

fn edited(by: &dyn Modify) -> Value {
    let mut document = <Document as utoipa::OpenApi>::openapi();
    by.modify(&mut document);
    by.modify(&mut document);
    serde_json::to_value(document).expect("JSON")
}

#[test]
fn a_document_with_the_addon_says_once_what_its_operations_share() {
    let document = edited(&IdempotencyAddon);
    let components = &document["components"];
    let reference = |path: &str| document["paths"][path]["post"]["parameters"][0]["$ref"].clone();
    assert_eq!(
        reference("/orders"),
        "#/components/parameters/IdempotencyKey"
    );
    assert_eq!(
        reference("/notes"),
        "#/components/parameters/OptionalIdempotencyKey"
    );
    let marked = |path: &str| document["paths"][path]["post"]["x-idempotency"].clone();
    assert_eq!(marked("/orders"), json!({ "key": "required" }));
    assert_eq!(marked("/notes"), json!({ "key": "optional" }));
    let required = |name: &str| components["parameters"][name]["required"].clone();
    assert_eq!(required("IdempotencyKey"), true);
    assert_eq!(required("OptionalIdempotencyKey"), false);
    let problem = &components["schemas"]["Problem"];
    assert!(problem["properties"]["type"].is_object(), "{problem}");
    let needed = problem["required"].as_array().expect("a list");
    assert!(!needed.contains(&json!("documentation")), "{needed:?}");
    let text = document.to_string();
    assert_eq!(
        text.matches("A URI that names the kind of problem").count(),
        1
    );
    for path in ["/orders", "/notes"] {
        let responses = document["paths"][path]["post"]["responses"]
            .as_object()
            .expect("responses");
        for (status, response) in responses
            .iter()
            .filter(|(status, _)| !status.starts_with('2'))
        {
            let content = &response["content"]["application/problem+json"];
            assert_eq!(
                content["schema"]["$ref"], "#/components/schemas/Problem",
                "{status}"
            );
        }
    }
    let placed = &document["paths"]["/orders"]["post"]["responses"]["201"];
    assert!(placed["headers"]["Idempotent-Replayed"].is_object());
}

#[test]
fn a_policy_tells_of_its_own_answers() {
    let conflict = edited(&HttpPolicy::new().strict().mismatch(StatusCode::CONFLICT));
    let responses = &conflict["paths"]["/orders"]["post"]["responses"];
    let says = |status: &str| responses[status]["description"].as_str().expect("text");
    assert!(says("409").contains("used before") && !says("422").contains("used before"));
    let pattern = &conflict["components"]["parameters"]["IdempotencyKey"]["schema"]["pattern"];
    assert_eq!(*pattern, Syntax::Strict.pattern());

    let early = edited(&HttpPolicy::new().in_flight(InFlightAnswer::TooEarly));
    let responses = &early["paths"]["/orders"]["post"]["responses"];
    assert!(responses["425"]["headers"]["Retry-After"].is_object());
    let says = responses["409"]["description"].as_str().expect("text");
    assert!(!says.contains("is running"), "{says}");

    let accepted = InFlightAnswer::accepted(|key| format!("/status/{}", key.short_hash()));
    let accepted = edited(&HttpPolicy::new().in_flight(accepted));
    let response = &accepted["paths"]["/orders"]["post"]["responses"]["202"];
    assert!(response["headers"]["Location"].is_object(), "{response}");
    assert!(
        response["content"]["application/json"].is_object(),
        "{response}"
    );
}

#[test]
fn what_a_document_says_by_itself_stays() {
    #[utoipa::path(
        post,
        path = "/orders",
        params(KeyHeader),
        responses(LayerRefusals, (status = 422, description = "our own words"))
    )]
    #[expect(dead_code, reason = "only its document is looked at")]
    fn documented() {}

    #[derive(utoipa::OpenApi)]
    #[openapi(paths(documented))]
    struct Document;

    let mut document = <Document as utoipa::OpenApi>::openapi();
    HttpPolicy::new()
        .mismatch(StatusCode::CONFLICT)
        .modify(&mut document);
    let document = serde_json::to_value(document).expect("JSON");
    let responses = &document["paths"]["/orders"]["post"]["responses"];
    assert_eq!(responses["422"]["description"], "our own words");
    for status in ["400", "403", "409", "413", "500", "503"] {
        assert!(responses[status].is_object(), "{status}: {responses}");
    }
}

#[allow(dead_code, reason = "only what describes it is looked at")]
#[idempotent(namespace = "orders", retention = "7d", marker = PlaceOrder)]
async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    number: i64,
) -> Result<i64, OrderError> {
    assert!(!key.as_str().is_empty());
    let written = sqlx::query("INSERT INTO orders (item) VALUES ('tea')");
    written.execute(&mut **tx).await?;
    Ok(number)
}

#[allow(dead_code, reason = "only what describes it is looked at")]
#[idempotent(namespace = "orders", key_required = false, marker = TakeNote)]
async fn note(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    number: i64,
) -> Result<i64, OrderError> {
    assert!(key.is_none());
    let written = sqlx::query("INSERT INTO orders (item) VALUES ('tea')");
    written.execute(&mut **tx).await?;
    Ok(number)
}

#[test]
fn a_route_that_names_its_handler_once_tells_of_its_policy() {
    #[utoipa::path(
        post,
        path = "/place",
        params(KeyHeader<PlaceOrder>),
        responses((status = 201, description = "placed"), Refusals<PlaceOrder>)
    )]
    #[expect(dead_code, reason = "only its document is looked at")]
    fn placing() {}

    #[utoipa::path(
        post,
        path = "/note",
        params(KeyHeader<TakeNote>),
        responses((status = 200, description = "taken"), Refusals<TakeNote>)
    )]
    #[expect(dead_code, reason = "only its document is looked at")]
    fn noting() {}

    #[derive(utoipa::OpenApi)]
    #[openapi(paths(placing, noting), modifiers(&IdempotencyAddon))]
    struct Document;

    let document = <Document as utoipa::OpenApi>::openapi();
    let document = serde_json::to_value(document).expect("JSON");
    for (path, status, component, seconds) in [
        ("/place", "201", "IdempotencyKey", "604800 seconds"),
        ("/note", "200", "OptionalIdempotencyKey", "86400 seconds"),
    ] {
        let operation = &document["paths"][path]["post"];
        let parameter = &operation["parameters"][0];
        let reference = format!("#/components/parameters/{component}");
        assert_eq!(parameter["$ref"], reference.as_str());
        let description = parameter["description"].as_str().expect("text");
        assert!(description.contains(seconds), "{description}");
        let responses = &operation["responses"];
        assert!(responses[status]["headers"]["Idempotent-Replayed"].is_object());
        for refusal in ["400", "409", "422", "500", "503"] {
            assert!(responses[refusal].is_object(), "{path}: {refusal}");
        }
    }
}
