//! Which requests have a key, and whose.

use bytes::Bytes;
use idem_client::{ClientError, Key, KeyChoice, KeyError};
use idem_tests_clients::Town;
use reqwest::{Method, StatusCode};

use crate::customer::{Hurried, client, keys, order, policy};

fn key(text: &str) -> Key {
    text.parse().expect("a key")
}

#[tokio::test]
async fn exactly_the_requests_that_may_have_an_effect_get_a_key() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    let methods = [
        (Method::POST, true),
        (Method::PATCH, true),
        (Method::PUT, true),
        (Method::DELETE, true),
        (Method::GET, false),
        (Method::HEAD, false),
        (Method::OPTIONS, false),
    ];
    for (method, has_key) in methods {
        let url = format!("{}/f/m-{method}/pass/searches", town.url);
        let sent = client.request(method.clone(), url).send().await;
        sent.expect("an answer");
        let keys = keys(&town, &format!("m-{method}"));
        assert_eq!(keys.len(), 1, "{method}");
        assert_eq!(keys[0].is_some(), has_key, "{method}");
    }
}

#[tokio::test]
async fn each_intent_has_a_key_of_its_own_and_the_callers_is_kept() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    for _ in 0..2 {
        let sent = order(&client, &town.url, "own", "lost").send().await;
        sent.expect("an answer");
    }
    assert_eq!(keys(&town, "own").len(), 2);
    let chosen = order(&client, &town.url, "chosen", "lost,503");
    let chosen = chosen.with_extension(KeyChoice::Use(key("cart-17")));
    chosen.send().await.expect("an answer");
    assert_eq!(keys(&town, "chosen"), [Some("\"cart-17\"".to_owned())]);
    let header = order(&client, &town.url, "header", "lost,503");
    let header = header.header("Idempotency-Key", "bare-17");
    header.send().await.expect("an answer");
    assert_eq!(keys(&town, "header"), [Some("bare-17".to_owned())]);
}

#[tokio::test]
async fn a_request_without_a_key_is_sent_once() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    let omitted = order(&client, &town.url, "omitted", "unsent,pass");
    let omitted = omitted.with_extension(KeyChoice::Omit);
    omitted.send().await.expect_err("it is not sent again");
    assert_eq!(keys(&town, "omitted"), [None]);
    assert_eq!(town.requests("omitted").len(), 1);
    let default = order(&client, &town.url, "default", "pass");
    let default = default.header("idempotency-key", "of-all-requests");
    let omitted = default.with_extension(KeyChoice::Omit).send().await;
    omitted.expect("an answer");
    assert_eq!(keys(&town, "default"), [None]);
}

#[tokio::test]
async fn what_cannot_be_sent_with_a_key_is_refused_before_anything_is_sent() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    let url = |name: &str| format!("{}/f/{name}/pass/orders", town.url);
    let stream = || {
        let chunks = [Ok::<_, std::io::Error>(Bytes::from_static(b"{}"))];
        let body = http_body_util::StreamBody::new(futures_util::stream::iter(
            chunks.map(|chunk| chunk.map(hyper::body::Frame::data)),
        ));
        reqwest::Body::wrap(body)
    };
    let streamed = client.post(url("streamed")).body(stream());
    let error = streamed.send().await.expect_err("refused");
    let error = ClientError::of(&error).expect("an error of the client");
    assert!(matches!(error, ClientError::StreamingBody));
    assert_eq!(error.key(), None);

    let safe = client.get(url("safe"));
    let safe = safe.with_extension(KeyChoice::Use(key("k")));
    let error = safe.send().await.expect_err("refused");
    let error = ClientError::of(&error).expect("an error of the client");
    assert!(matches!(
        error,
        ClientError::Key(KeyError::SafeMethod { .. })
    ));

    let twice = client.post(url("twice"));
    let twice = twice
        .header("idempotency-key", "a")
        .header("idempotency-key", "b");
    let error = twice.send().await.expect_err("refused");
    let error = ClientError::of(&error).expect("an error of the client");
    assert!(matches!(error, ClientError::Key(KeyError::Several)));
    for name in ["streamed", "safe", "twice"] {
        assert!(town.requests(name).is_empty(), "{name}");
    }
    // Without a key a stream may leave, once.
    let once = client.post(url("once")).body(stream());
    let sent = once.with_extension(KeyChoice::Omit).send().await;
    sent.expect("an answer");
    assert_eq!(keys(&town, "once"), [None]);
}

#[tokio::test]
async fn the_same_key_with_another_request_is_refused_at_once() {
    let town = Town::open().await;
    let clock = Hurried::default();
    let client = client(&town, policy(&clock));
    let mixed_up = |item: &str| {
        let order = order(&client, &town.url, item, "pass");
        order.with_extension(KeyChoice::Use(key("mixed-up")))
    };
    mixed_up("tea").send().await.expect("an answer");
    let refused = mixed_up("coffee").send().await.expect("an answer");
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(town.requests("coffee").len(), 1);
    assert!(clock.pauses().is_empty());
}
