//! Services of tower's own behind the layer, and bodies of other types than axum's.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use axum::routing::post;
use axum::{Extension, Router};
use idem_axum::{IdempotencyLayer, MaybeBuffered};
use idem_runtime::{Attempt, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use reqwest::Client;
use tower_http::timeout::{DeadlineBody, ResponseBodyTimeoutLayer};
use tower_layer::Layer as _;
use tower_service::Service;

use crate::relay::{OPERATION, REPEATABLE, Relay, scoped, send};

/// No test waits as long as this.
const LONG: Duration = Duration::from_hours(1);

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
async fn a_service_gets_its_attempt_whose_key_it_gives_to_its_provider() {
    let relay = Relay::open_routes(REPEATABLE, |layer, _| {
        let charge = async |Extension(attempt): Extension<Attempt>| {
            let status = if attempt.number() == 1 { 503 } else { 201 };
            let status = StatusCode::from_u16(status).expect("a status");
            (status, attempt.external_key())
        };
        Router::new()
            .route("/charge", post(charge))
            .route_layer(scoped(layer))
    })
    .await;
    let first = send(relay.post("charge", "a")).await;
    let second = send(relay.post("charge", "a")).await;
    assert_eq!((first.0, second.0), (503, 201));
    assert_eq!(first.2, second.2);
    assert_eq!(first.2.len(), 36);
    assert_ne!(send(relay.post("charge", "b")).await.2, first.2);
}

/// A service that breaks off, once it has done its work.
#[derive(Debug, Clone, Default)]
struct Broken(Arc<AtomicU32>);

impl Service<Request<MaybeBuffered<Body>>> for Broken {
    type Response = Response<Body>;
    type Error = &'static str;
    type Future = Ready<Result<Response<Body>, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<MaybeBuffered<Body>>) -> Self::Future {
        self.0.fetch_add(1, Ordering::SeqCst);
        ready(Err("broken off"))
    }
}

#[tokio::test]
async fn an_error_in_place_of_a_response_leaves_it_open_too() {
    for (operation, again, runs) in [(OPERATION, Ok(409), 1), (REPEATABLE, Err("broken off"), 2)] {
        let relay = Relay::open().await;
        let broken = Broken::default();
        let layer = IdempotencyLayer::new(relay.pool.clone(), operation).global();
        let mut service = layer.layer(broken.clone());
        for expected in [Err("broken off"), again] {
            poll_fn(|context| service.poll_ready(context))
                .await
                .expect("ready");
            let request = Request::post("/").header("idempotency-key", "a");
            let answer = service.call(request.body(Body::empty()).expect("a request"));
            let status = answer.await.map(|answer| answer.status().as_u16());
            assert_eq!(status, expected);
        }
        assert_eq!(broken.0.load(Ordering::SeqCst), runs);
    }
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

/// A service that may be called only by whoever asked it, and not its clone, whether it is ready.
#[derive(Debug, Default)]
struct Careful {
    ready: bool,
}

impl Clone for Careful {
    fn clone(&self) -> Self {
        Self { ready: false }
    }
}

impl Service<Request<MaybeBuffered<Body>>> for Careful {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<MaybeBuffered<Body>>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called without being asked"
        );
        ready(Ok(Response::new(Body::from("served"))))
    }
}

#[tokio::test]
async fn the_service_that_is_called_is_the_one_that_said_it_was_ready() {
    let database = Sqlite::fresh(Journal::Wal);
    let pool = database.pool(2);
    let mut conn = pool.acquire().await.expect("a connection");
    schema::create_if_missing(&mut *conn)
        .await
        .expect("a table");
    drop(conn);
    let mut service = IdempotencyLayer::new(pool, OPERATION)
        .global()
        .layer(Careful::default());
    for key in ["a", "b", "b"] {
        poll_fn(|context| service.poll_ready(context))
            .await
            .expect("ready");
        let request = Request::post("/").header("idempotency-key", key);
        let answer = service.call(request.body(Body::empty()).expect("a request"));
        assert_eq!(answer.await.expect("served").status(), 200);
    }
}
