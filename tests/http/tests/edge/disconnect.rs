//! Clients that go away while their handler runs, and bodies that come in pieces.

use std::convert::Infallible;

use axum::body::Bytes;
use futures_util::stream;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use reqwest::{Body, Client, StatusCode};

use crate::client::{order_as, send};
use crate::shop::Shop;

async fn a_client_goes_away(client: impl Fn() -> Client) {
    let shop = Shop::open().await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let key = format!("{:?}-{point:?}", shop.port);
        let before = shop.count().await;
        let gate = Gate::at(&key, point);
        let going = tokio::spawn(order_as(&client(), &shop, "acme", &key, "tea").send());
        gate.entered().await;
        going.abort();
        assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
        drop(gate);
        // The server notices in its own time. Until then the key is in flight.
        let answered = async {
            loop {
                let answer = send(order_as(&client(), &shop, "acme", &key, "tea")).await;
                if answer.status() != StatusCode::CONFLICT {
                    break answer;
                }
            }
        };
        let answer = in_time("the key stays in flight", answered).await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        let after = shop.count().await;
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
    }
}

#[tokio::test]
async fn a_client_of_http_1_that_goes_away_leaves_one_effect_after_its_retry() {
    a_client_goes_away(Client::new).await;
}

#[tokio::test]
async fn a_client_of_http_2_that_goes_away_leaves_one_effect_after_its_retry() {
    a_client_goes_away(|| {
        let client = Client::builder().http2_prior_knowledge().build();
        client.expect("a client")
    })
    .await;
}

/// A body of JSON, `length` bytes long, in pieces of 1 KiB.
fn in_pieces(length: usize) -> Body {
    let item = "x".repeat(length - r#"{"item":""}"#.len());
    let json = format!(r#"{{"item":"{item}"}}"#).into_bytes();
    let pieces: Vec<_> = json.chunks(1024).map(Bytes::copy_from_slice).collect();
    Body::wrap_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)))
}

#[tokio::test]
async fn a_body_in_many_pieces_is_one_request() {
    let shop = Shop::open().await;
    let client = Client::new();
    for length in [64 * 1024 + 1, 2 * 1024 * 1024] {
        let key = length.to_string();
        for replayed in [false, true] {
            let request = order_as(&client, &shop, "acme", &key, "").body(in_pieces(length));
            let answer = send(request).await;
            assert_eq!(answer.status(), StatusCode::CREATED, "{length}");
            assert_eq!(
                answer.headers().contains_key("idempotent-replayed"),
                replayed
            );
        }
        let other = order_as(&client, &shop, "acme", &key, "").body(in_pieces(length - 1));
        assert_eq!(
            send(other).await.status(),
            StatusCode::UNPROCESSABLE_ENTITY,
            "{length}"
        );
    }
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn a_body_over_the_servers_limit_leaves_the_key_fresh() {
    let shop = Shop::open().await;
    let client = Client::new();
    let over = order_as(&client, &shop, "acme", "a", "").body(in_pieces(2 * 1024 * 1024 + 1));
    assert_eq!(send(over).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(shop.count().await, (0, 0));
    let within = order_as(&client, &shop, "acme", "a", "tea");
    assert_eq!(send(within).await.status(), StatusCode::CREATED);
}
