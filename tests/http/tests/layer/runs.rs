//! When the service behind the layer runs.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{Request, Response};
use idem_axum::{IdempotencyLayer, MaybeBuffered};
use idem_runtime::schema;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use tower_layer::Layer as _;
use tower_service::Service;

use crate::relay::{OPERATION, Relay, refusal, send};

#[tokio::test]
async fn a_duplicate_of_a_running_request_is_told_when_to_come_back() {
    let relay = Relay::open().await;
    let gate = Gate::at("in-flight", GatePoint::AfterWrite);
    let first = tokio::spawn(relay.post("order", "in-flight").send());
    gate.entered().await;
    let duplicate = relay
        .post("order", "in-flight")
        .send()
        .await
        .expect("an answer");
    assert_eq!(duplicate.status(), 409);
    assert!(duplicate.headers().contains_key("retry-after"));
    gate.open();
    assert_eq!(
        first.await.expect("no panic").expect("an answer").status(),
        201
    );
    assert_eq!(send(relay.post("order", "in-flight")).await.0, 201);
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_the_run_and_its_retry_gets_the_response() {
    let relay = Relay::open().await;
    let gate = Gate::at("gone", GatePoint::AfterWrite);
    let going = tokio::spawn(relay.post("order", "gone").send());
    gate.entered().await;
    going.abort();
    assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
    gate.open();
    let answered = async {
        loop {
            let (status, code, body) = send(relay.post("order", "gone")).await;
            if code.as_deref() != Some("in-flight") {
                break (status, body);
            }
        }
    };
    let answer = in_time("the key stays in flight", answered).await;
    assert_eq!((answer.0, &answer.1[..]), (201, &b"order 1 of 0 bytes"[..]));
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn without_its_store_the_service_does_not_run() {
    let relay = Relay::open().await;
    relay.pool.close().await;
    assert_eq!(
        refusal(relay.post("order", "a")).await,
        (503, "unavailable".to_owned())
    );
    assert_eq!(relay.runs(), 0);
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
    type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<MaybeBuffered<Body>>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called without being asked"
        );
        std::future::ready(Ok(Response::new(Body::from("served"))))
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
        std::future::poll_fn(|context| service.poll_ready(context))
            .await
            .expect("ready");
        let request = Request::post("/").header("idempotency-key", key);
        let answer = service.call(request.body(Body::empty()).expect("a request"));
        assert_eq!(answer.await.expect("served").status(), 200);
    }
}
