//! Bodies whose length is not known before, and bodies that do not come to an end.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::routing::post;
use idem_axum::{IdempotencyLayer, MaybeBuffered};
use reqwest::Client;
use tokio::process::Command;
use tower_http::timeout::{DeadlineBody, ResponseBodyTimeoutLayer};
use tower_layer::Layer as _;
use tower_service::Service;

use crate::relay::{OPERATION, Relay, refusal, scoped, send};

/// No test waits as long as this.
const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_short_body_of_unknown_length_is_recorded_and_so_is_one_of_no_pieces() {
    let relay = Relay::open_with(|layer| scoped(layer).response_limit(6)).await;
    for (path, body) in [("short", "onetwo"), ("nothing", "")] {
        let first = send(relay.post(path, path)).await;
        assert_eq!((first.0, &first.2[..]), (200, body.as_bytes()));
        assert_eq!(send(relay.post(path, path)).await, first);
    }
    assert_eq!(relay.runs(), 2);
}

#[tokio::test]
async fn a_response_inside_a_layer_that_times_bodies_is_recorded() {
    let relay = Relay::open_routes(OPERATION, |layer, route| {
        Router::new()
            .route("/{how}", route)
            .layer(ResponseBodyTimeoutLayer::new(LONG))
            .layer(scoped(layer))
    })
    .await;
    let first = send(relay.post("order", "a")).await;
    assert_eq!(first.0, 201);
    assert_eq!(send(relay.post("order", "a")).await, first);
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn a_response_that_is_relayed_from_another_service_is_recorded() {
    let upstream = Relay::open().await;
    let url = upstream.url.clone();
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let relayed = async move || {
            let request = Client::new().post(format!("{url}/short"));
            let request = request
                .header("x-tenant", "acme")
                .header("idempotency-key", "b");
            let answer = request.send().await.expect("an answer");
            Body::from_stream(answer.bytes_stream())
        };
        Router::new()
            .route("/relayed", post(relayed))
            .route_layer(scoped(layer))
    })
    .await;
    for _ in 0..2 {
        assert_eq!(send(relay.post("relayed", "a")).await.2, "onetwo");
    }
    assert_eq!(upstream.runs(), 1);
}

#[tokio::test]
async fn trailers_are_recorded() {
    let relay = Relay::open().await;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let output = Command::new("curl")
            .args([
                "--silent",
                "--show-error",
                "--raw",
                "--http1.1",
                "--data",
                "tea",
            ])
            .args(["--header", "te: trailers", "--header", "x-tenant: acme"])
            .args(["--header", "idempotency-key: a"])
            .arg(format!("{}/trailers", relay.url))
            .output();
        let output = output.await.expect("curl is there");
        assert!(output.status.success(), "{output:?}");
        bodies.push(String::from_utf8(output.stdout).expect("text"));
    }
    assert_eq!(bodies, ["3\r\none\r\n0\r\nx-checksum: 17\r\n\r\n"; 2]);
    assert_eq!(relay.runs(), 1);
}

async fn assert_refused_and_not_repeated(relay: &Relay, path: &str) {
    let runs = relay.runs();
    let first = refusal(relay.post(path, path)).await;
    assert_eq!(first, (500, "response-not-storable".to_owned()), "{path}");
    let again = refusal(relay.post(path, path)).await;
    assert_eq!(again, (409, "outcome-unknown".to_owned()), "{path}");
    assert_eq!(relay.runs(), runs + 1, "{path}");
}

#[tokio::test]
async fn a_body_that_does_not_end_in_time_is_refused_and_its_effect_is_not_repeated() {
    let layer = |layer| scoped(layer).response_timeout(Duration::from_millis(20));
    assert_refused_and_not_repeated(&Relay::open_with(layer).await, "endless").await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_refused_and_its_effect_is_not_repeated() {
    let relay = Relay::open().await;
    for path in ["breaks", "shorter"] {
        assert_refused_and_not_repeated(&relay, path).await;
    }
}

#[tokio::test]
async fn a_body_that_says_it_is_over_the_limit_is_not_waited_for() {
    let layer = |layer| scoped(layer).response_limit(4999).response_timeout(LONG);
    assert_refused_and_not_repeated(&Relay::open_with(layer).await, "announced").await;
}

/// A service whose response's body has a type of its own.
#[derive(Debug, Clone)]
struct Timed;

impl Service<Request<MaybeBuffered<Body>>> for Timed {
    type Response = Response<DeadlineBody<Body>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<MaybeBuffered<Body>>) -> Self::Future {
        let body = DeadlineBody::new(LONG, Body::from("timed"));
        ready(Ok(Response::new(body)))
    }
}

#[tokio::test]
async fn a_service_with_any_body_can_be_layered() {
    let relay = Relay::open().await;
    let layer = IdempotencyLayer::new(relay.pool.clone(), OPERATION).global();
    let mut service = layer.layer(Timed);
    for replayed in [false, true] {
        poll_fn(|context| service.poll_ready(context))
            .await
            .expect("ready");
        let request = Request::post("/").header("idempotency-key", "a");
        let answer = service.call(request.body(Body::empty()).expect("a request"));
        let answer = answer.await.expect("an answer");
        assert_eq!(
            answer.headers().contains_key("idempotent-replayed"),
            replayed
        );
        let body = axum::body::to_bytes(Body::new(answer.into_body()), 100).await;
        assert_eq!(body.expect("a body"), "timed");
    }
}
