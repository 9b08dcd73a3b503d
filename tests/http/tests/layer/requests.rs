//! Which requests are refused, and which are one.

use std::convert::Infallible;

use axum::Router;
use axum::body::Bytes;
use axum::http::Method;
use axum::routing::post;
use futures_util::stream;
use idem_axum::HttpPolicy;
use idem_axum::layer::Unscoped;
use idem_runtime::IdempotencyKey;
use reqwest::{Body, RequestBuilder};
use tower_http::limit::RequestBodyLimitLayer;

use crate::relay::{OPERATION, Relay, refusal, scoped, send};

#[tokio::test]
async fn a_request_over_a_limit_further_out_is_too_large_and_not_unreadable() {
    let relay = Relay::open_routes(OPERATION, |layer, route| {
        Router::new()
            .route("/{how}", route)
            .layer(scoped(layer))
            .layer(RequestBodyLimitLayer::new(1000))
            .layer(RequestBodyLimitLayer::new(2000))
    })
    .await;
    let pieces = |length: usize| {
        let piece = Ok::<_, Infallible>(Bytes::from(vec![b'x'; length]));
        Body::wrap_stream(stream::iter([piece]))
    };
    for length in [1001, 2001] {
        let over = relay.post("order", "a").body(pieces(length));
        assert_eq!(refusal(over).await, (413, "request-too-large".to_owned()));
    }
    assert_eq!(relay.runs(), 0);
    assert_eq!(
        send(relay.post("order", "a").body(pieces(1000))).await.0,
        201
    );
}

#[tokio::test]
async fn a_request_that_says_it_is_over_the_limit_is_refused() {
    let relay = Relay::open_with(|layer| scoped(layer).request_limit(1000)).await;
    let over = relay.post("order", "a").body("x".repeat(1001));
    assert_eq!(refusal(over).await, (413, "request-too-large".to_owned()));
    assert_eq!(relay.runs(), 0);
}

/// Sends the first, all that are the same and all that are other requests, under one key.
async fn assert_compared(
    relay: &Relay,
    request: impl Fn(&[(&str, &str)]) -> RequestBuilder,
    same: &[&[(&str, &str)]],
    others: &[&[(&str, &str)]],
) {
    for lines in same {
        assert_eq!(send(request(lines)).await.0, 200, "{lines:?}");
    }
    for lines in others {
        let refused = refusal(request(lines)).await;
        assert_eq!(refused, (422, "mismatch".to_owned()), "{lines:?}");
    }
    assert_eq!(relay.runs(), 1);
}

/// A request with these header lines.
fn with_lines(relay: &Relay, lines: &[(&str, &str)]) -> RequestBuilder {
    let request = relay.post("again", "a").body(r#"{"a":1}"#);
    lines.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    })
}

#[tokio::test]
async fn spellings_of_one_media_type_are_one_request() {
    let relay = Relay::open().await;
    let same: [&[_]; 4] = [
        &[("content-type", "application/json")],
        &[("content-type", "application/json; charset=utf-8")],
        &[("content-type", "Application/JSON;charset=\"UTF-8\"")],
        &[("content-type", "application/json;")],
    ];
    let others: [&[_]; 4] = [
        &[],
        &[("content-type", "application/json; charset=utf-16")],
        &[("content-type", "application/merge-patch+json")],
        &[
            ("content-type", "application/json"),
            ("content-type", "text/plain"),
        ],
    ];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &others).await;
}

#[tokio::test]
async fn all_values_of_the_headers_that_count_are_compared() {
    let account = axum::http::HeaderName::from_static("x-account");
    let relay = Relay::open_with(|layer| scoped(layer).compare_headers([account])).await;
    let same: [&[_]; 3] = [
        &[
            ("content-encoding", "gzip"),
            ("x-account", "1"),
            ("x-account", "2"),
        ],
        &[("content-encoding", "GZIP"), ("x-account", "1, 2")],
        &[
            ("content-encoding", "gzip"),
            ("x-account", "1,2"),
            ("x-trace", "17"),
        ],
    ];
    let others: [&[_]; 5] = [
        &[("x-account", "1, 2")],
        &[("content-encoding", "br"), ("x-account", "1, 2")],
        &[("content-encoding", "gzip"), ("x-account", "2, 1")],
        &[("content-encoding", "gzip"), ("x-account", "1")],
        &[
            ("content-encoding", "gzip"),
            ("x-account", "1, 2"),
            ("content-language", "de"),
        ],
    ];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &others).await;
}

#[tokio::test]
async fn hosts_that_share_their_keys_do_not_share_their_responses() {
    let relay = Relay::open_with(Unscoped::global).await;
    let same: [&[_]; 2] = [&[("host", "a.example")], &[("host", "A.Example")]];
    let others: [&[_]; 2] = [&[("host", "b.example")], &[("host", "a.example:8080")]];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &others).await;
}

#[tokio::test]
async fn where_a_key_has_an_owner_it_may_be_sent_to_another_host() {
    let relay = Relay::open().await;
    let same: [&[_]; 2] = [&[("host", "a.example")], &[("host", "b.example")]];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &[]).await;
}

#[tokio::test]
async fn a_key_that_is_not_read_is_not_taken_for_none() {
    let relay = Relay::open_routes(OPERATION, |layer, route| {
        Router::new()
            .route("/{how}", route)
            .layer(scoped(layer).optional_key())
            .layer(HttpPolicy::new().strict())
    })
    .await;
    let unread = relay
        .request(Method::POST, "again")
        .header("x-idempotency-key", "\"a\"");
    assert_eq!(refusal(unread).await, (400, "key-missing".to_owned()));
    assert_eq!(relay.runs(), 0);
    assert_eq!(send(relay.request(Method::POST, "again")).await.0, 200);
    let read = relay
        .post("again", "\"a\"")
        .header("x-idempotency-key", "\"a\"");
    assert_eq!(send(read).await.0, 200);
}

#[tokio::test]
async fn a_handler_without_the_layer_does_not_take_it_for_none_either() {
    let relay = Relay::open_routes(OPERATION, |_, _| {
        let handler = async |key: Option<IdempotencyKey>| format!("{}", key.is_some());
        let routes = Router::new().route("/orders", post(handler));
        routes.layer(HttpPolicy::new().strict())
    })
    .await;
    let bare = || relay.request(Method::POST, "orders");
    let unread = bare().header("x-idempotency-key", "\"a\"");
    assert_eq!(refusal(unread).await, (400, "key-missing".to_owned()));
    assert_eq!(send(bare()).await.2, "false");
    assert_eq!(send(relay.post("orders", "\"a\"")).await.2, "true");
}
