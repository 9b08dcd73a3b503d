//! Methods and paths that the router itself answers for.

use axum::Router;
use axum::http::HeaderValue;
use axum::routing::{get, post};
use reqwest::Method;

use crate::relay::{OPERATION, Relay, refusal, scoped};

#[tokio::test]
async fn what_the_router_refuses_is_not_asked_for_a_key_where_the_layer_is_the_method_routers() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        Router::new().route("/orders", post("made").route_layer(scoped(layer)))
    })
    .await;
    for keyed in [false, true] {
        for (path, status, allowed) in [("orders", 405, Some("POST")), ("other", 404, None)] {
            let mut request = relay.request(Method::PATCH, path);
            if keyed {
                request = request.header("idempotency-key", "a");
            }
            let answer = request.send().await.expect("an answer");
            assert_eq!(answer.status(), status);
            let found = answer.headers().get("allow");
            assert_eq!(found.map(HeaderValue::as_bytes), allowed.map(str::as_bytes));
        }
    }
    let bare = refusal(relay.request(Method::POST, "orders")).await;
    assert_eq!(bare, (400, "key-missing".to_owned()));
}

#[tokio::test]
async fn what_the_router_refuses_of_a_request_with_a_key_is_the_routers_answer() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        Router::new()
            .route("/orders", post("made"))
            .layer(scoped(layer))
    })
    .await;
    for (path, status) in [("orders", 405), ("other", 404)] {
        let request = relay
            .request(Method::PATCH, path)
            .header("idempotency-key", path);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers().contains_key("allow"), status == 405);
    }
}

#[tokio::test]
async fn head_is_served_by_the_handler_of_get_and_asked_for_a_key_as_it_is() {
    let relay = Relay::open_routes(OPERATION, |layer, route| {
        let layer = scoped(layer).methods([Method::GET]);
        Router::new().route("/{how}", route).route_layer(layer)
    })
    .await;
    let head = |keyed: bool| {
        let request = relay.request(Method::HEAD, "order");
        let request = if keyed {
            request.header("idempotency-key", "a")
        } else {
            request
        };
        request.send()
    };
    assert_eq!(head(false).await.expect("an answer").status(), 400);
    assert_eq!(relay.runs(), 0);
    let first = head(true).await.expect("an answer");
    let again = head(true).await.expect("an answer");
    assert_eq!(
        (first.status(), again.status()),
        (201.try_into().unwrap(), first.status())
    );
    assert_eq!(first.headers()["location"], again.headers()["location"]);
    assert_eq!(
        first.headers()["content-length"],
        again.headers()["content-length"]
    );
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn where_get_is_not_asked_for_a_key_head_is_not_either() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        Router::new()
            .route("/orders", get("all of them"))
            .route_layer(scoped(layer))
    })
    .await;
    let answer = relay.request(Method::HEAD, "orders").send().await;
    assert_eq!(answer.expect("an answer").status(), 200);
}
