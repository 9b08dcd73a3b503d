//! Bodies: long ones, those in pieces, and those that cannot be recorded.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use idem_tower::layer::DEFAULT_BODY_LIMIT;
use reqwest::Body;

use crate::relay::{Relay, refusal, scoped, send};

fn in_pieces(length: usize) -> Body {
    let pieces: Vec<_> = vec![b'x'; length]
        .chunks(1000)
        .map(Bytes::copy_from_slice)
        .collect();
    Body::wrap_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)))
}

#[tokio::test]
async fn a_response_that_cannot_be_recorded_is_refused_and_its_effect_is_not_repeated() {
    let relay = Relay::open_with(|layer| scoped(layer).response_limit(1999)).await;
    let mut runs = 0;
    for path in ["stream", "large", "encoded"] {
        let first = refusal(relay.post(path, path)).await;
        assert_eq!(first, (500, "response-not-storable".to_owned()), "{path}");
        runs += 1;
        let again = refusal(relay.post(path, path)).await;
        assert_eq!(again, (409, "outcome-unknown".to_owned()), "{path}");
        assert_eq!(relay.runs(), runs, "{path}");
    }
}

#[tokio::test]
async fn a_response_of_exactly_the_limit_is_recorded() {
    let relay = Relay::open_with(|layer| scoped(layer).response_limit(2000)).await;
    let first = send(relay.post("large", "a")).await;
    assert_eq!((first.0, first.2.len()), (200, 2000));
    assert_eq!(send(relay.post("large", "a")).await, first);
    assert_eq!(relay.runs(), 1);
}

/// Its record is longer than the limit of a handler's result.
#[tokio::test]
async fn a_response_of_the_default_limit_is_recorded() {
    let relay = Relay::open_with(scoped).await;
    let first = send(relay.post("largest", "a")).await;
    assert_eq!((first.0, first.2.len()), (200, DEFAULT_BODY_LIMIT));
    assert_eq!(send(relay.post("largest", "a")).await, first);
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn long_bodies_in_many_pieces_are_one_request() {
    let limit = 2 * 1024 * 1024;
    let relay = Relay::open_with(|layer| scoped(layer).request_limit(limit)).await;
    for length in [64 * 1024 + 1, limit] {
        let key = length.to_string();
        let first = send(relay.post("order", &key).body(in_pieces(length))).await;
        assert_eq!(first.0, 201);
        assert!(String::from_utf8_lossy(&first.2).ends_with(&format!("of {length} bytes")));
        assert_eq!(
            send(relay.post("order", &key).body(in_pieces(length))).await,
            first
        );
        let other = relay.post("order", &key).body(in_pieces(length - 1));
        assert_eq!(refusal(other).await, (422, "mismatch".to_owned()));
    }
    assert_eq!(relay.runs(), 2);
}

#[tokio::test]
async fn a_request_over_the_limit_is_refused_and_the_key_stays_fresh() {
    let relay = Relay::open_with(|layer| scoped(layer).request_limit(1000)).await;
    let over = relay.post("order", "a").body(in_pieces(1001));
    assert_eq!(refusal(over).await, (413, "request-too-large".to_owned()));
    assert_eq!(relay.runs(), 0);
    assert_eq!(
        send(relay.post("order", "a").body(in_pieces(1000))).await.0,
        201
    );
}
