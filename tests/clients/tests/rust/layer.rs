//! The tower layer, around hyper-util's client.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use idem_client::{BoxError, ClientError, Key, KeyChoice, KeyLayer};
use idem_tests_clients::Town;
use idem_tests_clients::cases::{CASES, End};
use serde_json::Value;
use tower::{ServiceBuilder, ServiceExt as _};

use crate::customer::{Hurried, body, keys, policy};

fn request(town: &Town, item: &str, plan: &str) -> Request<Full<Bytes>> {
    Request::post(format!("{}/f/{item}/{plan}/orders", town.url))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body(item))))
        .expect("a request")
}

/// Sends a request through the layer, and reads the answer.
async fn send(request: Request<Full<Bytes>>, attempts: u32) -> Result<Response<Bytes>, BoxError> {
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let policy = policy(&Hurried::default()).attempts(attempts);
    let layered = ServiceBuilder::new()
        .layer(KeyLayer::new(policy))
        .service(client);
    let (parts, body) = layered.oneshot(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, body))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_intent_has_one_effect_under_every_fault_through_the_layer() {
    let town = Town::open().await;
    // It follows no redirects, and TLS is not its matter.
    let cases = CASES.iter().filter(|case| {
        let redirects = ["kept", "moved", "away"];
        case.handshakes == 0 && !redirects.iter().any(|word| case.plan.contains(word))
    });
    for case in cases {
        let answer = send(request(&town, case.item, case.plan), 12).await;
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", case.item));
        assert_eq!(answer.status(), StatusCode::CREATED, "{}", case.item);
        let replayed = answer.headers().contains_key("idempotent-replayed");
        assert_eq!(replayed, case.end == End::Replayed, "{}", case.item);
        let placed: Value = serde_json::from_slice(answer.body()).expect("JSON");
        assert_eq!(placed["item"], case.item);
        assert_eq!(keys(&town, case.item).len(), 1, "{}", case.item);
        assert_eq!(town.effects(case.item).await, 1, "{}", case.item);
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_the_key_goes_nowhere() {
    let town = Town::open().await;
    let answer = send(request(&town, "away", "away-307"), 12).await;
    let status = answer.expect("an answer").status();
    assert_eq!(status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(town.requests("away").len(), 1);
}

#[tokio::test]
async fn the_layer_keeps_the_callers_choice_and_says_why_there_is_no_answer() {
    let town = Town::open().await;
    let mut omitted = request(&town, "omitted", "pass");
    omitted.extensions_mut().insert(KeyChoice::Omit);
    let answer = send(omitted, 12).await.expect("an answer");
    // The service wants a key.
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    assert_eq!(keys(&town, "omitted"), [None]);

    let key: Key = "cart-18".parse().expect("a key");
    let mut chosen = request(&town, "chosen", "lost,lost");
    chosen.extensions_mut().insert(KeyChoice::Use(key));
    let error = send(chosen, 2).await.expect_err("no answer");
    let error = error.downcast::<ClientError>().expect("of the client");
    assert_eq!(error.key().map(Key::as_str), Some("cart-18"));

    let page = Request::get(format!("{}/f/page/pass/page", town.url));
    let page = page.body(Full::default()).expect("a request");
    let page = send(page, 12).await.expect("an answer");
    assert!(page.body().starts_with(b"<!doctype html>"));
    assert_eq!(keys(&town, "page"), [None]);
}
