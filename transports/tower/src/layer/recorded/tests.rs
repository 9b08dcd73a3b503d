//! Which headers are recorded, and which are not.

use super::*;

#[test]
fn what_protects_the_client_and_what_is_unknown_is_recorded() {
    for name in [
        "access-control-allow-credentials",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "allow",
        "cache-control",
        "clear-site-data",
        "content-disposition",
        "content-language",
        "content-location",
        "content-range",
        "content-security-policy",
        "content-security-policy-report-only",
        "content-type",
        "cross-origin-embedder-policy",
        "cross-origin-opener-policy",
        "cross-origin-resource-policy",
        "deprecation",
        "digest",
        "etag",
        "expires",
        "last-modified",
        "link",
        "location",
        "origin-agent-cluster",
        "permissions-policy",
        "preference-applied",
        "referrer-policy",
        "retry-after",
        "strict-transport-security",
        "sunset",
        "timing-allow-origin",
        "vary",
        "www-authenticate",
        "x-content-type-options",
        "x-download-options",
        "x-frame-options",
        "x-order-number",
        "x-permitted-cross-domain-policies",
        "x-robots-tag",
        "x-xss-protection",
    ] {
        assert!(belongs_to_the_result(name), "{name}");
    }
}

#[test]
fn what_belongs_to_the_moment_and_what_is_secret_is_not_recorded() {
    for name in [
        "authentication-info",
        "authorization",
        "date",
        "dpop-nonce",
        "ratelimit-policy",
        "replay-nonce",
        "request-id",
        "server",
        "set-cookie",
        "x-amzn-requestid",
        "x-api-key",
        "x-auth-token",
        "x-csrf-token",
        "x-rate-limit-remaining",
        "x-ratelimit-remaining",
        "x-request-id",
        "x-subject-token",
    ] {
        assert!(!belongs_to_the_result(name), "{name}");
    }
}

#[test]
fn the_layer_says_otherwise_but_for_what_is_the_connections() {
    let set_of = |names: &[&'static str]| -> HashSet<HeaderName> {
        names
            .iter()
            .map(|name| HeaderName::from_static(name))
            .collect()
    };
    let mut headers = HeaderMap::new();
    for name in [
        "set-cookie",
        "x-a",
        "x-b",
        "x-c",
        "transfer-encoding",
        "keep-alive",
    ] {
        headers.append(name, "1".parse().expect("a value"));
    }
    headers.append("connection", "close, X-C".parse().expect("a value"));
    let names = |recorded: &RecordedHeaders| -> Vec<String> {
        let mut names: Vec<_> = recorded
            .of(&headers)
            .expect("short")
            .into_iter()
            .map(|field| field.0)
            .collect();
        names.sort();
        names
    };
    let mut recorded = RecordedHeaders::default();
    assert_eq!(names(&recorded), ["x-a", "x-b"]);
    recorded.with = set_of(&["set-cookie", "keep-alive", "x-c"]);
    recorded.without = set_of(&["x-a"]);
    assert_eq!(names(&recorded), ["set-cookie", "x-b"]);
    recorded.only = Some(set_of(&["x-a", "transfer-encoding"]));
    assert_eq!(names(&recorded), ["set-cookie"]);
}
