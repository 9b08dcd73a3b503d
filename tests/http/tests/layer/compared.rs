//! Which requests are one.

use reqwest::RequestBuilder;

use crate::relay::{Relay, refusal, scoped, send};

#[tokio::test]
async fn a_request_that_says_it_is_over_the_limit_is_refused() {
    let relay = Relay::open_with(|layer| scoped(layer).request_limit(1000)).await;
    let over = relay.post("order", "a").body("x".repeat(1001));
    assert_eq!(refusal(over).await, (413, "request-too-large".to_owned()));
    assert_eq!(relay.runs(), 0);
}

/// Sends the first, all that are the same and all that are other requests, under one key.
async fn assert_compared(
    relay: &Relay,
    request: impl Fn(&[(&str, &str)]) -> RequestBuilder,
    same: &[&[(&str, &str)]],
    others: &[&[(&str, &str)]],
) {
    for lines in same {
        assert_eq!(send(request(lines)).await.0, 200, "{lines:?}");
    }
    for lines in others {
        let refused = refusal(request(lines)).await;
        assert_eq!(refused, (422, "mismatch".to_owned()), "{lines:?}");
    }
    assert_eq!(relay.runs(), 1);
}

/// A request with these header lines.
fn with_lines(relay: &Relay, lines: &[(&str, &str)]) -> RequestBuilder {
    let request = relay.post("again", "a").body(r#"{"a":1}"#);
    lines.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    })
}

#[tokio::test]
async fn spellings_of_one_media_type_are_one_request() {
    let relay = Relay::open().await;
    let same: [&[_]; 4] = [
        &[("content-type", "application/json")],
        &[("content-type", "application/json; charset=utf-8")],
        &[("content-type", "Application/JSON;charset=\"UTF-8\"")],
        &[("content-type", "application/json;")],
    ];
    let others: [&[_]; 4] = [
        &[],
        &[("content-type", "application/json; charset=utf-16")],
        &[("content-type", "application/merge-patch+json")],
        &[
            ("content-type", "application/json"),
            ("content-type", "text/plain"),
        ],
    ];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &others).await;
}

#[tokio::test]
async fn all_values_of_the_headers_that_count_are_compared() {
    let account = reqwest::header::HeaderName::from_static("x-account");
    let relay = Relay::open_with(|layer| scoped(layer).compare_headers([account])).await;
    let same: [&[_]; 3] = [
        &[
            ("content-encoding", "gzip"),
            ("x-account", "1"),
            ("x-account", "2"),
        ],
        &[("content-encoding", "GZIP"), ("x-account", "1, 2")],
        &[
            ("content-encoding", "gzip"),
            ("x-account", "1,2"),
            ("x-trace", "17"),
        ],
    ];
    let others: [&[_]; 5] = [
        &[("x-account", "1, 2")],
        &[("content-encoding", "br"), ("x-account", "1, 2")],
        &[("content-encoding", "gzip"), ("x-account", "2, 1")],
        &[("content-encoding", "gzip"), ("x-account", "1")],
        &[
            ("content-encoding", "gzip"),
            ("x-account", "1, 2"),
            ("content-language", "de"),
        ],
    ];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &others).await;
}

#[tokio::test]
async fn hosts_that_share_their_keys_do_not_share_their_responses() {
    let relay = Relay::open_with(idem_tower::layer::Unscoped::global).await;
    let same: [&[_]; 2] = [&[("host", "a.example")], &[("host", "A.Example")]];
    let others: [&[_]; 2] = [&[("host", "b.example")], &[("host", "a.example:8080")]];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &others).await;
}

#[tokio::test]
async fn where_a_key_has_an_owner_it_may_be_sent_to_another_host() {
    let relay = Relay::open().await;
    let same: [&[_]; 2] = [&[("host", "a.example")], &[("host", "b.example")]];
    assert_compared(&relay, |lines| with_lines(&relay, lines), &same, &[]).await;
}
