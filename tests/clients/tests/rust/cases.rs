//! The table of cases, over the middleware and over the layer, in the open and behind TLS.

use idem_client::ClientError;
use idem_tests_clients::Town;
use idem_tests_clients::cases::{CASES, Case, End};
use reqwest_middleware::ClientWithMiddleware;
use serde_json::Value;

use crate::customer::{Hurried, client, client_of_http2, json, keys, order, policy};

/// Plays one case, and holds it against the table.
async fn hold(town: &Town, client: &ClientWithMiddleware, door: &str, case: &Case, prefix: &str) {
    let item = format!("{prefix}-{}", case.item);
    let sent = order(client, door, &item, case.plan).send().await;
    let requests = town.requests(&item).len();
    let faults = case.plan.split(',').count();
    if case.end == End::Refused {
        let error = sent.expect_err("a refusal");
        let error = ClientError::of(&error).expect("an error of the client");
        assert!(matches!(error, ClientError::Redirect { .. }), "{item}");
        assert_eq!((requests, town.effects(&item).await), (1, 0), "{item}");
        return;
    }
    let answer = sent.unwrap_or_else(|error| panic!("{item}: {error:?}"));
    let (status, replayed) = (
        answer.status().as_u16(),
        answer.headers().contains_key("idempotent-replayed"),
    );
    let body = json(answer).await;
    match case.end {
        End::Followed => assert_eq!((status, &body), (200, &Value::from(1)), "{item}"),
        end => {
            assert_eq!((status, replayed), (201, end == End::Replayed), "{item}");
            assert_eq!(body["item"], *item);
        }
    }
    let passes = usize::from(case.end != End::Followed && case.plan != "pass");
    assert!(requests >= faults + passes, "{item}: {requests} requests");
    let keys = keys(town, &item);
    assert!(keys.len() == 1 && keys[0].is_some(), "{item}: {keys:?}");
    assert_eq!(town.effects(&item).await, 1, "{item}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_intent_has_one_effect_under_every_fault() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    for case in CASES.iter().filter(|case| case.handshakes == 0) {
        hold(&town, &client, &town.url, case, "open").await;
    }
}

/// A cut resets a stream, and the connection stays.
#[tokio::test(flavor = "multi_thread")]
async fn one_intent_has_one_effect_under_every_fault_over_http2() {
    let town = Town::open().await;
    let client = client_of_http2(&town);
    for case in CASES.iter().filter(|case| case.handshakes == 0) {
        hold(&town, &client, &town.url, case, "http2").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_intent_has_one_effect_under_every_fault_behind_tls() {
    let town = Town::open().await;
    for case in &CASES {
        // Of its own, so that the first request makes a connection.
        let client = client(&town, policy(&Hurried::default()));
        town.tls.cut_handshakes(case.handshakes);
        hold(&town, &client, &town.tls.url, case, "tls").await;
    }
}
