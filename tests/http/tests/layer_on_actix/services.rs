//! Services of actix-web behind the layer: they stay on their worker, and their bodies are sent from it.

use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix_web::body::{MessageBody, SizedStream};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use idem_actix::Idempotency;
use idem_runtime::LeasedOperation;
use idem_tests::gate::{self, Gate, GatePoint};
use idem_tests::patience::in_time;
use reqwest::Client;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::relay::{OPERATION, REPEATABLE, Relay, Unscoped, refusal, scoped, send};

/// Tells when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn panic_once(runs: web::Data<AtomicU32>) -> &'static str {
    assert!(
        runs.fetch_add(1, Ordering::SeqCst) > 0,
        "the service panics"
    );
    "served"
}

async fn open_panicking(operation: LeasedOperation) -> Relay {
    Relay::open_routes(operation, |layer, runs| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let runs = web::Data::from(Arc::clone(&runs));
            let route = web::resource("/panic").to(panic_once).wrap(layer.clone());
            config.app_data(runs).service(route);
        }
    })
    .await
}

#[tokio::test]
async fn a_service_that_panics_ends_as_if_its_lease_had_lapsed() {
    let relay = open_panicking(OPERATION).await;
    assert!(relay.post("panic", "a").send().await.is_err());
    let again = refusal(relay.post("panic", "a")).await;
    assert_eq!(again, (409, "outcome-unknown".to_owned()));
    assert_eq!(relay.runs(), 1);
    let relay = open_panicking(REPEATABLE).await;
    assert!(relay.post("panic", "a").send().await.is_err());
    assert_eq!(send(relay.post("panic", "a")).await.2, "served");
}

/// Tells when the request is dropped before it is answered.
async fn watch(
    left: Arc<Notify>,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let dropped = Dropped(left);
    let answer = next.call(request).await;
    mem::forget(dropped);
    answer
}

#[tokio::test]
async fn a_reset_drops_the_request_and_not_the_run_and_its_retry_gets_the_response() {
    let left = Arc::new(Notify::new());
    let leaves = Arc::clone(&left);
    let relay = Relay::open_routes(OPERATION, |layer, runs| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let leaves = Arc::clone(&leaves);
            let route = web::resource("/order").to(async |runs: web::Data<AtomicU32>| {
                gate::pass("reset", GatePoint::AfterWrite).await;
                (runs.fetch_add(1, Ordering::SeqCst) + 1).to_string()
            });
            let watched = from_fn(move |request, next| watch(Arc::clone(&leaves), request, next));
            let runs = web::Data::from(Arc::clone(&runs));
            let route = route.wrap(layer.clone()).wrap(watched);
            config.app_data(runs).service(route);
        }
    })
    .await;
    let gate = Gate::at("reset", GatePoint::AfterWrite);
    let address = relay.url.trim_start_matches("http://");
    let mut line = TcpStream::connect(address).await.expect("a connection");
    line.set_zero_linger().expect("a socket");
    let request =
        "POST /order HTTP/1.1\r\nhost: relay\r\nx-tenant: acme\r\nidempotency-key: a\r\n\r\n";
    line.write_all(request.as_bytes()).await.expect("sent");
    gate.entered().await;
    drop(line);
    in_time("the request is not dropped", left.notified()).await;
    let meanwhile = refusal(relay.post("order", "a")).await;
    assert_eq!(meanwhile, (409, "in-flight".to_owned()));
    gate.open();
    let answered = async {
        loop {
            let (status, _, body) = send(relay.post("order", "a")).await;
            if status != 409 {
                break (status, body);
            }
        }
    };
    let answer = in_time("the key stays in flight", answered).await;
    assert_eq!((answer.0, &answer.1[..]), (200, &b"1"[..]));
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn one_request_over_http_1_and_over_http_2_is_one() {
    let relay = Relay::open_with(Unscoped::global).await;
    assert_eq!(send(relay.post("again?x=1", "a").body("tea")).await.2, "1");
    let client = Client::builder().http2_prior_knowledge().build();
    let client = client.expect("a client");
    let post = |body: &'static str| {
        let request = client.post(format!("{}/again?x=1", relay.url));
        send(request.header("idempotency-key", "a").body(body))
    };
    assert_eq!(post("tea").await.2, "1");
    assert_eq!(post("coffee").await.1.as_deref(), Some("mismatch"));
    let other = client.post(format!("{}/again?x=1", relay.url));
    let other = other.header("idempotency-key", "b").body("tea");
    assert_eq!(send(other).await.2, "2");
}

#[tokio::test]
async fn a_response_that_is_not_recorded_is_passed_on_as_it_comes() {
    let more = Arc::new(Notify::new());
    let rest = Arc::clone(&more);
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let rest = Arc::clone(&rest);
            let refuse = move || {
                let rest = Arc::clone(&rest);
                async move {
                    let first = stream::iter([Ok::<_, Infallible>(Bytes::from("one"))]);
                    let second = stream::once(async move {
                        rest.notified().await;
                        Ok(Bytes::from("two"))
                    });
                    HttpResponse::UnprocessableEntity().streaming(first.chain(second))
                }
            };
            let route = web::resource("/refuse").to(refuse);
            config.service(route.wrap(layer.clone()));
        }
    })
    .await;
    for _ in 0..2 {
        let answer = relay.post("refuse", "a").send().await;
        let mut answer = answer.expect("an answer");
        assert_eq!(answer.status(), 422);
        assert_eq!(answer.chunk().await.expect("a piece").expect("one"), "one");
        more.notify_one();
        assert_eq!(answer.text().await.expect("the rest"), "two");
    }
}

#[tokio::test]
async fn a_body_that_is_not_as_long_as_it_says_is_not_taken_for_a_whole_one() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let ends = async |length: web::Path<u64>| {
                let whole = stream::iter([Ok::<_, Infallible>(Bytes::from("three"))]);
                HttpResponse::Ok().body(SizedStream::new(*length, whole))
            };
            let route = web::resource("/says/{length}").to(ends);
            config.service(route.wrap(layer.clone()));
        }
    })
    .await;
    for length in [4, 6] {
        let (path, key) = (format!("says/{length}"), length.to_string());
        let first = refusal(relay.post(&path, &key)).await;
        assert_eq!(first, (500, "response-not-storable".to_owned()), "{length}");
        let again = refusal(relay.post(&path, &key)).await;
        assert_eq!(again, (409, "outcome-unknown".to_owned()), "{length}");
    }
    for _ in 0..2 {
        assert_eq!(send(relay.post("says/5", "5")).await.2, "three");
    }
}

#[tokio::test]
async fn a_body_whose_stream_panics_is_not_taken_for_a_whole_one() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let breaks = async || {
                let first = stream::iter([Ok::<_, Infallible>(Bytes::from("one"))]);
                let second = stream::once(async { panic!("the stream panics") });
                HttpResponse::Ok().streaming(first.chain(second))
            };
            config.service(web::resource("/breaks").to(breaks).wrap(layer.clone()));
        }
    })
    .await;
    let first = refusal(relay.post("breaks", "a")).await;
    assert_eq!(first, (500, "response-not-storable".to_owned()));
    let again = refusal(relay.post("breaks", "a")).await;
    assert_eq!(again, (409, "outcome-unknown".to_owned()));
}

#[tokio::test]
async fn a_body_that_nobody_waits_for_any_more_is_dropped() {
    let left = Arc::new(Notify::new());
    let leaves = Arc::clone(&left);
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let time = Duration::from_millis(20);
        let layer = Idempotency::new(scoped(layer).response_timeout(time));
        move |config: &mut web::ServiceConfig| {
            let leaves = Arc::clone(&leaves);
            let endless = move || {
                let dropped = Dropped(Arc::clone(&leaves));
                let body = stream::pending::<Result<Bytes, Infallible>>().inspect(move |_| {
                    let _ = &dropped;
                });
                async move { HttpResponse::Ok().streaming(body) }
            };
            let route = web::resource("/endless").to(endless);
            config.service(route.wrap(layer.clone()));
        }
    })
    .await;
    let first = refusal(relay.post("endless", "a")).await;
    assert_eq!(first, (500, "response-not-storable".to_owned()));
    in_time("the body is not dropped", left.notified()).await;
}
