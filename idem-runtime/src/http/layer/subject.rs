//! What of an HTTP request is compared on a retry.

use axum::extract::OriginalUri;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::fingerprint::canonical_text;
use crate::key::hex;

/// Method, path, query, content type and body.
#[derive(Serialize)]
pub(super) struct Subject<'r> {
    method: &'r str,
    path: &'r str,
    query: Option<&'r str>,
    content_type: Option<String>,
    /// The canonical text of a JSON body.
    json: Option<String>,
    /// Of any other body, lower-case hex.
    sha256: Option<String>,
}

impl<'r> Subject<'r> {
    pub(super) fn of(parts: &'r Parts, body: &[u8]) -> Self {
        let content_type = parts.headers.get(CONTENT_TYPE);
        let content_type =
            content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        // What says that it is JSON and is not is compared as it is: the service may refuse it.
        let json = content_type
            .as_deref()
            .filter(|text| is_json(text))
            .and_then(|_| canonical_text(body).ok())
            .and_then(|text| String::from_utf8(text).ok());
        // Inside `Router::nest` the request's own URI lacks the prefix, which may name another resource.
        let original = parts.extensions.get::<OriginalUri>();
        let uri = original.map_or(&parts.uri, |original| &original.0);
        Self {
            method: parts.method.as_str(),
            path: uri.path(),
            query: uri.query(),
            sha256: match json {
                Some(_) => None,
                None => Some(hex::lower(&Sha256::digest(body))),
            },
            content_type,
            json,
        }
    }
}

/// `application/json`, or a type with the suffix `+json` (RFC 6839, section 3.1).
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn of(path: &str, content_type: &str, body: &str) -> String {
        let request = Request::post(path).header(CONTENT_TYPE, content_type);
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        serde_json::to_string(&Subject::of(&parts, body.as_bytes())).expect("JSON")
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
        let all = [
            of("/a", "text/plain", ""),
            of("/b", "text/plain", ""),
            of("/a?b", "text/plain", ""),
            of("/a?c", "text/plain", ""),
            of("/a", "text/html", ""),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(!all[place + 1..].contains(one), "{one}");
        }
    }
}
