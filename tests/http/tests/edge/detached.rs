//! Calls that end although their caller has hung up.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use idem_axum::Detached;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use reqwest::{Client, StatusCode};
use tokio::sync::Notify;

use crate::shop::{Shop, text};
use idem_tests_http::client::{order, order_as, send};

/// Tells when the server has dropped the answer that a client no longer waits for.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A shop whose calls are detached, and what tells when a request is no longer waited for.
async fn open(detached: &Detached) -> (Shop, Arc<Notify>) {
    let left = Arc::new(Notify::new());
    let (layer, notify) = (detached.clone(), Arc::clone(&left));
    let watch = from_fn(move |request: Request, next: Next| {
        let dropped = Dropped(Arc::clone(&notify));
        async move {
            let answer: Response = next.run(request).await;
            std::mem::forget(dropped);
            answer
        }
    });
    let shop = Shop::open_with(|routes| routes.route_layer(layer).layer(watch)).await;
    (shop, left)
}

#[tokio::test]
async fn a_call_whose_client_hung_up_ends_and_its_retry_is_the_replay() {
    let detached = Detached::new(4);
    for http_2 in [false, true] {
        let (shop, left) = open(&detached).await;
        let client = || {
            let builder = Client::builder();
            let builder = if http_2 {
                builder.http2_prior_knowledge()
            } else {
                builder
            };
            builder.build().expect("a client")
        };
        for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
            let key = format!("hang-up-{}-{point:?}", shop.port);
            let before = shop.count().await;
            let gate = Gate::at(&key, point);
            let going = tokio::spawn(order_as(&client(), &shop, "acme", &key, "tea").send());
            gate.entered().await;
            going.abort();
            assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
            in_time("the server does not see its client leave", left.notified()).await;
            // Retries meanwhile are told to come back, and disturb nothing.
            for _ in 0..3 {
                let answer = send(order(&shop, &key, "tea")).await;
                assert_eq!(answer.status(), StatusCode::CONFLICT);
            }
            gate.open();
            detached.drain().await;
            let answer = send(order(&shop, &key, "tea")).await;
            assert_eq!(answer.status(), StatusCode::CREATED);
            assert_eq!(text(&answer.headers()["idempotent-replayed"]), "true");
            let after = shop.count().await;
            assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
        }
    }
}

#[tokio::test]
async fn calls_whose_clients_hung_up_count_against_the_limit() {
    let detached = Detached::new(1);
    let (shop, left) = open(&detached).await;
    let key = format!("limit-{}", shop.port);
    let gate = Gate::at(&key, GatePoint::BeforeWrite);
    let going = tokio::spawn(order(&shop, &key, "tea").send());
    gate.entered().await;
    going.abort();
    in_time("the server does not see its client leave", left.notified()).await;
    // Nobody waits for it, and another does not begin beside it.
    let mut other = Box::pin(detached.run(async {}));
    let pending = poll_fn(|context| Poll::Ready(other.as_mut().poll(context).is_pending()));
    assert!(pending.await, "it ran beside the first");
    // One whose caller leaves before it has begun is not run at all.
    let mut third = Box::pin(detached.run(async { panic!("it was not to begin") }));
    let pending = poll_fn(|context| Poll::Ready(third.as_mut().poll(context).is_pending()));
    assert!(pending.await, "it ran beside the first");
    drop(third);
    gate.open();
    other.await;
    detached.drain().await;
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_detached_call_panics_where_its_caller_waits() {
    let detached = Detached::new(1);
    let call = detached.clone();
    let caller = tokio::spawn(async move { call.run(async { panic!("of the call's own") }).await });
    let panic = caller.await.expect_err("a panic").into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the call's own"));
    detached.run(async {}).await;
}
