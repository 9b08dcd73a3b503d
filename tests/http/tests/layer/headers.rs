//! What a response has besides its body, on the first answer and on the replay.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use idem_axum::{HttpPolicy, Keep};
use idem_runtime::Error;
use tower_http::cors::CorsLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::relay::{OPERATION, Relay, scoped, send};

/// Headers of an uploaded page that is handed out again, as a service sets them to be safe.
const PAGE: [(&str, &str); 14] = [
    ("access-control-allow-credentials", "true"),
    ("access-control-allow-origin", "https://a.example"),
    ("cache-control", "private, no-store"),
    ("content-disposition", "attachment; filename=\"page.html\""),
    ("content-language", "de"),
    ("content-security-policy", "default-src 'none'; sandbox"),
    ("content-type", "text/html"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("retry-after", "5"),
    ("strict-transport-security", "max-age=63072000"),
    ("vary", "accept-language"),
    ("x-content-type-options", "nosniff"),
    ("x-page-number", "17"),
];

async fn page() -> Response {
    let mut response = "<script>".into_response();
    for (name, value) in PAGE {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    let headers = response.headers_mut();
    headers.append(header::LINK, HeaderValue::from_static("</a>; rel=next"));
    headers.append(header::LINK, HeaderValue::from_static("</b>; rel=prev"));
    headers.append(header::SET_COOKIE, HeaderValue::from_static("a=b"));
    response
}

/// The headers of two answers to one request.
async fn twice(relay: &Relay, path: &str) -> [HeaderMap; 2] {
    let mut answers = Vec::new();
    for _ in 0..2 {
        let answer = relay.post(path, "a").header("origin", "https://a.example");
        let answer = answer.send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        answers.push(answer.headers().clone());
    }
    answers.try_into().expect("two answers")
}

#[tokio::test]
async fn what_protects_the_client_is_replayed_and_so_is_all_else_that_belongs_to_the_result() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        Router::new()
            .route("/page", post(page))
            .route_layer(scoped(layer))
    })
    .await;
    let [first, mut again] = twice(&relay, "page").await;
    for (name, value) in PAGE {
        assert_eq!(again[name], value);
    }
    assert_eq!(
        again.remove("idempotent-replayed").expect("a replay"),
        "true"
    );
    let mut expected = first;
    assert!(expected.remove(header::SET_COOKIE).is_some());
    expected.remove(header::DATE);
    again.remove(header::DATE);
    assert_eq!(again, expected);
}

#[tokio::test]
async fn a_secret_is_recorded_only_where_the_layer_names_it() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = scoped(layer).record_headers([header::SET_COOKIE]);
        let layer = layer.omit_headers([HeaderName::from_static("x-page-number")]);
        Router::new().route("/page", post(page)).route_layer(layer)
    })
    .await;
    let [first, again] = twice(&relay, "page").await;
    assert_eq!(first[header::SET_COOKIE], again[header::SET_COOKIE]);
    assert!(first.contains_key("x-page-number") && !again.contains_key("x-page-number"));
}

#[tokio::test]
async fn what_inner_and_outer_layers_set_is_there_once_on_every_answer() {
    let set = |name| {
        let name = HeaderName::from_static(name);
        SetResponseHeaderLayer::appending(name, HeaderValue::from_static("set"))
    };
    let relay = Relay::open_routes(OPERATION, |layer, route| {
        Router::new()
            .route("/{how}", route)
            .layer(set("x-inner"))
            .layer(set("vary"))
            .layer(scoped(layer))
            .layer(set("x-outer"))
            .layer(CorsLayer::new().allow_origin(HeaderValue::from_static("https://a.example")))
    })
    .await;
    let [first, mut again] = twice(&relay, "again").await;
    for name in ["x-inner", "x-outer", "access-control-allow-origin"] {
        assert_eq!(again.get_all(name).iter().count(), 1, "{name}");
    }
    again.remove("idempotent-replayed").expect("a replay");
    let dateless = |mut headers: HeaderMap| {
        headers.remove(header::DATE);
        headers
    };
    assert_eq!(dateless(first), dateless(again));
    assert_eq!(relay.runs(), 1);
}

/// What a handler tells the layers outside.
#[derive(Debug, Clone, Copy)]
struct Reported(&'static str);

async fn report() -> Response {
    let mut response = "told".into_response();
    response.extensions_mut().insert(Reported("by the handler"));
    *response.version_mut() = Version::HTTP_10;
    response
}

async fn listen(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let reported = response
        .extensions()
        .get::<Reported>()
        .map(|reported| reported.0);
    let reported = reported.filter(|_| response.version() == Version::HTTP_10);
    *response.version_mut() = Version::HTTP_11;
    let reported = HeaderValue::from_static(reported.unwrap_or("nothing"));
    response.headers_mut().insert("x-told", reported);
    response
}

#[tokio::test]
async fn the_first_answer_is_the_response_itself_with_all_that_its_service_put_into_it() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let routes = Router::new().route("/tell", post(report));
        routes.layer(scoped(layer)).layer(from_fn(listen))
    })
    .await;
    let [first, again] = twice(&relay, "tell").await;
    assert_eq!(first["x-told"], "by the handler");
    // An extension is a value in memory; no record has it.
    assert_eq!(again["x-told"], "nothing");
}

#[tokio::test]
async fn a_policy_further_out_edits_a_replayed_refusal_as_it_edited_the_first() {
    let refuse = async || {
        let operation = "the inner one".into();
        Error::KeyMissing { operation }.into_response()
    };
    let policy = HttpPolicy::new().problem_types("https://api.example.com/problems");
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = scoped(layer).keep(|_| Keep::Record);
        let routes = Router::new().route("/refuse", post(refuse));
        routes.layer(layer).layer(policy)
    })
    .await;
    let first = send(relay.post("refuse", "a")).await;
    let text = String::from_utf8_lossy(&first.2).into_owned();
    assert!(
        text.contains("https://api.example.com/problems#key-missing"),
        "{text}"
    );
    assert_eq!(send(relay.post("refuse", "a")).await, first);
}
