//! When the service behind the layer runs.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;

use crate::relay::{Relay, refusal, send};

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
