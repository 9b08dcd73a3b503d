use bytes::Bytes;
use http::Request;

use super::{BODY_MAX, HEADERS_MAX, METHOD_MAX, StoredRequest, URL_MAX};
use crate::key::{IDEMPOTENCY_KEY, KeyError};
use crate::ledger::{LedgerError, RequestField};

fn stored(request: http::request::Builder, body: &str) -> Result<StoredRequest, LedgerError> {
    let request = request
        .body(Bytes::from(body.to_owned()))
        .expect("a request");
    StoredRequest::new(request).map(|(stored, _)| stored)
}

#[test]
fn the_whole_request_is_stored_and_its_key_apart() {
    let request = Request::post("https://api.example.com/orders?a=1")
        .header("content-type", "application/json")
        .header("x-many", "one")
        .header("x-many", "two")
        .header(IDEMPOTENCY_KEY, "\"k-1\"");
    let stored = stored(request, "{}").expect("stored");
    assert_eq!(stored.key.as_str(), "k-1");
    assert_eq!((&*stored.method, &*stored.body), ("POST", &b"{}"[..]));
    assert_eq!(stored.url, "https://api.example.com/orders?a=1");
    let headers = r#"[["content-type","application/json"],["x-many","one"],["x-many","two"]]"#;
    assert_eq!(stored.headers, headers);
}

#[test]
fn the_id_follows_from_key_and_host() {
    let id = |url: &str, key: &str| {
        let request = Request::post(url).header(IDEMPOTENCY_KEY, key);
        stored(request, "").expect("stored").id
    };
    let one = id("https://api.example.com/a", "k");
    assert_eq!(one, id("https://API.example.com/b", "k"));
    assert_ne!(one, id("https://api.example.org/a", "k"));
    assert_ne!(one, id("https://api.example.com/a", "K"));
    let fresh = || {
        stored(Request::post("https://a.example"), "")
            .expect("stored")
            .id
    };
    assert_ne!(fresh(), fresh());
}

#[test]
fn what_cannot_be_sent_is_refused_with_its_field() {
    let refused = |request| stored(request, "").map(|_| ()).expect_err("refused");
    assert!(matches!(
        refused(Request::get("https://a.example")),
        LedgerError::Key(KeyError::SafeMethod { .. })
    ));
    for url in [
        "/orders",
        "ftp://a.example/",
        "https://me:secret@a.example/",
    ] {
        let error = refused(Request::post(url));
        let url_field = RequestField::Url;
        assert!(
            matches!(error, LedgerError::Form { field, .. } if field == url_field),
            "{url}"
        );
        assert!(!error.to_string().contains("secret"));
    }
    for name in ["authorization", "cookie", "proxy-authorization"] {
        let error = refused(Request::post("https://a.example").header(name, "secret"));
        let headers = RequestField::Headers;
        assert!(
            matches!(error, LedgerError::Form { field, .. } if field == headers),
            "{name}"
        );
    }
}

#[test]
fn what_is_too_long_is_refused_with_its_limit() {
    let limit = |request, body: &str| match stored(request, body).map(|_| ()) {
        Err(LedgerError::TooLong { field, limit, .. }) => (field.to_string(), limit),
        other => panic!("not refused: {other:?}"),
    };
    let post = || Request::post("https://a.example");
    let url = format!("https://a.example/{}", "a".repeat(URL_MAX));
    assert_eq!(limit(Request::post(&*url), ""), ("URL".to_owned(), URL_MAX));
    let header = post().header("x", "v".repeat(HEADERS_MAX));
    assert_eq!(limit(header, ""), ("headers".to_owned(), HEADERS_MAX));
    let body = "b".repeat(BODY_MAX + 1);
    assert_eq!(limit(post(), &body), ("body".to_owned(), BODY_MAX));
    let method = post().method(&*"M".repeat(METHOD_MAX + 1));
    assert_eq!(limit(method, ""), ("method".to_owned(), METHOD_MAX));
    assert!(stored(post(), &"b".repeat(BODY_MAX)).is_ok());
}
