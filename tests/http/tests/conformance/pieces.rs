//! Bodies that come in pieces.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use idem_tests_http::client::{order_as, send};
use idem_tests_http::{Framework, Shop};
use reqwest::{Body, Client, StatusCode};

/// A body of JSON, `length` bytes long, in pieces of 1 KiB.
fn in_pieces(length: usize) -> Body {
    let item = "x".repeat(length - r#"{"item":""}"#.len());
    let json = format!(r#"{{"item":"{item}"}}"#).into_bytes();
    let pieces: Vec<_> = json.chunks(1024).map(Bytes::copy_from_slice).collect();
    Body::wrap_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)))
}

pub(crate) async fn a_body_in_many_pieces_is_one_request<F: Framework>() {
    let shop = Shop::open::<F>().await;
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

pub(crate) async fn a_body_over_the_servers_limit_leaves_the_key_fresh<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let client = Client::new();
    let over = order_as(&client, &shop, "acme", "a", "").body(in_pieces(2 * 1024 * 1024 + 1));
    assert_eq!(send(over).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(shop.count().await, (0, 0));
    let within = order_as(&client, &shop, "acme", "a", "tea");
    assert_eq!(send(within).await.status(), StatusCode::CREATED);
}
