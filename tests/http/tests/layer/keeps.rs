//! What becomes of a response, by its status and by what the operation says of a lapse.

use http::{HeaderValue, StatusCode};
use idem_tower::Keep;

use crate::relay::{OPERATION, REPEATABLE, Relay, refusal, scoped, send};

/// Statuses of gateways, time-outs and faults: the service may have done its work.
const OPEN: [u16; 5] = [408, 500, 502, 503, 504];

#[tokio::test]
async fn only_success_is_recorded_unless_the_layer_says_otherwise() {
    let relay = Relay::open_for(REPEATABLE, scoped).await;
    assert_eq!(send(relay.post("fails", "a")).await.0, 502);
    assert_eq!(send(relay.post("fails", "a")).await.0, 200);
    assert_eq!(send(relay.post("refuses", "b")).await.2, "no 3");
    assert_eq!(send(relay.post("refuses", "b")).await.2, "no 4");
    let keep = |status: StatusCode| match status.as_u16() {
        200..=299 | 422 => Keep::Record,
        502 => Keep::Unknown,
        _ => Keep::Release,
    };
    let relay = Relay::open_for(REPEATABLE, move |layer| scoped(layer).keep(keep)).await;
    assert_eq!(send(relay.post("fails", "c")).await.0, 502);
    assert_eq!(
        refusal(relay.post("fails", "c")).await,
        (409, "outcome-unknown".to_owned())
    );
    assert_eq!(send(relay.post("refuses", "b")).await.2, "no 2");
    assert_eq!(send(relay.post("refuses", "b")).await.2, "no 2");
}

#[tokio::test]
async fn a_response_that_leaves_it_open_whether_it_happened_is_not_followed_by_a_second_run() {
    for status in OPEN {
        let relay = Relay::open_for(OPERATION, scoped).await;
        let path = status.to_string();
        assert_eq!(send(relay.post(&path, "a")).await.0, status);
        let again = refusal(relay.post(&path, "a")).await;
        assert_eq!(again, (409, "outcome-unknown".to_owned()), "{status}");
        assert_eq!(relay.runs(), 1, "{status}");
    }
}

#[tokio::test]
async fn where_a_lapse_may_be_retried_so_may_a_response_that_leaves_it_open() {
    for status in OPEN {
        let relay = Relay::open_for(REPEATABLE, scoped).await;
        let path = status.to_string();
        assert_eq!(send(relay.post(&path, "a")).await.0, status);
        assert_eq!(send(relay.post(&path, "a")).await.0, 200, "{status}");
        assert_eq!(relay.runs(), 2, "{status}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_service_releases_the_key_whatever_the_operation_says() {
    for operation in [OPERATION, REPEATABLE] {
        for status in [400, 404, 409, 422, 429] {
            let relay = Relay::open_for(operation, scoped).await;
            let path = status.to_string();
            assert_eq!(send(relay.post(&path, "a")).await.0, status);
            assert_eq!(send(relay.post(&path, "a")).await.0, 200, "{status}");
        }
    }
}

#[tokio::test]
async fn what_the_layer_says_of_a_status_stands_over_what_the_operation_says() {
    let relay = Relay::open_with(|layer| scoped(layer).keep(|_| Keep::Release)).await;
    assert_eq!(send(relay.post("fails", "a")).await.0, 502);
    assert_eq!(send(relay.post("fails", "a")).await.0, 200);
}

#[tokio::test]
async fn a_connection_that_was_upgraded_is_not_served_again() {
    let relay = Relay::open_for(REPEATABLE, scoped).await;
    let first = refusal(relay.post("upgrades", "a")).await;
    assert_eq!(first, (500, "response-not-storable".to_owned()));
    let again = refusal(relay.post("upgrades", "a")).await;
    assert_eq!(again, (409, "outcome-unknown".to_owned()));
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn a_replayed_failure_is_told_from_a_first_one() {
    let relay = Relay::open_with(|layer| scoped(layer).keep(|_| Keep::Record)).await;
    for replayed in [None, Some("true"), Some("true")] {
        let answer = relay.post("refuses", "a").send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let found = answer.headers().get("idempotent-replayed");
        assert_eq!(
            found.map(HeaderValue::as_bytes),
            replayed.map(str::as_bytes)
        );
    }
    assert_eq!(relay.runs(), 1);
}
