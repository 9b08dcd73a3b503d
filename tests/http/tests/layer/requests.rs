//! Which requests are refused, and how.

use std::convert::Infallible;

use axum::Router;
use axum::body::Bytes;
use axum::http::Method;
use axum::routing::post;
use futures_util::stream;
use idem_axum::{HttpPolicy, InFlightAnswer};
use idem_runtime::IdempotencyKey;
use idem_tests::gate::{Gate, GatePoint};
use reqwest::Body;
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

#[tokio::test]
async fn a_duplicate_of_a_running_request_is_accepted_where_a_policy_says_so() {
    let policy = HttpPolicy::new().in_flight(InFlightAnswer::status_at("/operations"));
    let relay = Relay::open_routes(OPERATION, |layer, route| {
        let routes = Router::new().route("/{how}", route);
        routes.layer(scoped(layer)).layer(policy)
    })
    .await;
    let gate = Gate::at("accepted", GatePoint::AfterWrite);
    let first = tokio::spawn(relay.post("order", "accepted").send());
    gate.entered().await;
    let duplicate = relay.post("order", "accepted").send().await;
    let duplicate = duplicate.expect("an answer");
    assert_eq!(duplicate.status(), 202);
    assert_eq!(duplicate.headers()["location"], "/operations?key=accepted");
    gate.open();
    let first = first.await.expect("no panic").expect("an answer");
    assert_eq!(first.status(), 201);
}
