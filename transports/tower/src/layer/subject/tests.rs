//! Which requests are one.

use http::Request;
use http::header::CONTENT_ENCODING;

use super::*;
use crate::layer::{AsReceived, Protocol as _};

fn subject(
    request: http::request::Builder,
    body: &str,
    authority: bool,
) -> Result<String, &'static str> {
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    let headers = HashSet::from([HeaderName::from_static("x-account")]);
    let besides = Besides {
        uri: &parts.uri,
        authority,
        coding: &AsReceived::CODING,
        of_the_body: AsReceived::OF_THE_BODY,
        headers: &headers,
    };
    let subject = Subject::of(&parts, body.as_bytes(), besides)?;
    Ok(serde_json::to_string(&subject).expect("JSON"))
}

fn of(path: &str, content_type: &str, body: &str) -> String {
    let request = Request::post(path).header(CONTENT_TYPE, content_type);
    subject(request, body, false).expect("a subject")
}

/// Of a request with these header lines.
fn with(lines: &[(&str, &str)]) -> String {
    let mut request = Request::post("/");
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    subject(request, "{}", true).expect("a subject")
}

fn assert_all_differ(all: &[String]) {
    for (index, one) in all.iter().enumerate() {
        assert!(!all[index + 1..].contains(one), "{one}");
    }
}

#[test]
fn json_is_compared_by_value_and_all_else_by_its_bytes() {
    for json in [
        "application/json",
        "application/problem+JSON; charset=utf-8",
    ] {
        assert_eq!(
            of("/", json, r#"{"a":1,"b":2}"#),
            of("/", json, r#"{ "b": 2.0, "a": 1 }"#)
        );
        assert_ne!(of("/", json, r#"{"a":1}"#), of("/", json, r#"{"a":2}"#));
        assert_ne!(of("/", json, r#"{"a":null}"#), of("/", json, "{}"));
    }
    assert_ne!(
        of("/", "text/plain", r#"{"a":1}"#),
        of("/", "text/plain", r#"{ "a":1}"#)
    );
    assert_ne!(
        of("/", "application/json", "{"),
        of("/", "application/json", "{{")
    );
}

#[test]
fn path_query_and_content_type_are_compared() {
    assert_all_differ(&[
        of("/a", "text/plain", ""),
        of("/b", "text/plain", ""),
        of("/a?b", "text/plain", ""),
        of("/a?c", "text/plain", ""),
        of("/a", "text/html", ""),
    ]);
}

#[test]
fn spellings_of_one_content_type_are_one_request() {
    let json = r#"{"a":1}"#;
    assert_eq!(
        of("/", "application/json", json),
        of("/", "Application/JSON;charset=UTF-8", json)
    );
    assert_eq!(
        of("/", "text/csv; header=present; charset=utf-8", "a"),
        of("/", "text/CSV;charset=\"UTF-8\" ;Header=\"present\"", "a")
    );
}

#[test]
fn every_value_of_a_header_that_counts_is_compared() {
    assert_all_differ(&[
        with(&[]),
        with(&[("content-encoding", "gzip")]),
        with(&[("content-encoding", "gzip"), ("content-encoding", "br")]),
        with(&[("content-language", "de")]),
        with(&[("content-range", "bytes 0-1/4")]),
        with(&[("content-type", "application/json")]),
        with(&[
            ("content-type", "application/json"),
            ("content-type", "text/plain"),
        ]),
        with(&[("content-type", "application/json, text/plain")]),
        with(&[("host", "a.example")]),
        with(&[("host", "b.example")]),
        with(&[("x-account", "1")]),
        with(&[("x-account", "1"), ("x-account", "2")]),
        with(&[("x-account", "2"), ("x-account", "1")]),
        with(&[("x-account", "")]),
        with(&[("x-account", "\"1, 2\"")]),
        with(&[("x-account", "\"1,2\"")]),
    ]);
}

#[test]
fn a_header_on_several_lines_is_the_list_that_a_proxy_makes_of_them() {
    let lines = with(&[("x-account", "1"), ("x-account", "2")]);
    assert_eq!(lines, with(&[("x-account", "1, 2")]));
    assert_eq!(lines, with(&[("x-account", "1,2")]));
    assert_eq!(with(&[]), with(&[("content-encoding", "identity")]));
    assert_eq!(
        with(&[("host", "A.example")]),
        with(&[("host", "a.EXAMPLE")])
    );
}

#[test]
fn the_host_counts_only_where_hosts_share_their_keys_and_is_that_of_http_2_too() {
    let uri = |uri: &str, authority| subject(Request::post(uri), "", authority);
    assert_eq!(
        uri("http://a.example/", false),
        uri("http://b.example/", false)
    );
    assert_ne!(
        uri("http://a.example/", true),
        uri("http://b.example/", true)
    );
    let host = Request::post("/").header(HOST, "a.example");
    assert_eq!(uri("http://a.example/", true), subject(host, "", true));
}

#[test]
fn a_multipart_body_that_cannot_be_compared_without_its_boundary_is_refused() {
    let form = "multipart/form-data; boundary=b";
    let of = |content_type: &str, encoding: Option<&str>, body: &str| {
        let mut request = Request::post("/").header(CONTENT_TYPE, content_type);
        if let Some(encoding) = encoding {
            request = request.header(CONTENT_ENCODING, encoding);
        }
        subject(request, body, false)
    };
    let body = "--b\r\n\r\ntea\r\n--b--\r\n";
    let one = of(form, None, body);
    assert!(one.is_ok());
    assert_eq!(
        one,
        of(
            "Multipart/Form-Data; boundary=\"c\"",
            None,
            &body.replace("--b", "--c")
        )
    );
    assert_ne!(one, of("multipart/mixed; boundary=b", None, body));
    assert_ne!(one, of("text/plain; boundary=b", None, body));
    assert!(of(form, None, "tea").is_err());
    assert!(of("multipart/form-data", None, body).is_err());
    assert!(of(form, Some("gzip"), body).is_err());
}
