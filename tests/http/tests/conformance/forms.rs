//! The forms of the header, line by line, through curl.

use idem_tests_http::client::curl;
use idem_tests_http::{Framework, Shop};
use idem_tower::HttpPolicy;

/// Spellings of one key.
const ONE_KEY: [&[&str]; 12] = [
    &[r#"Idempotency-Key: "8e03978e-40d5""#],
    &["Idempotency-Key: 8e03978e-40d5"],
    &["idempotency-key:   8e03978e-40d5  "],
    &[r#"Idempotency-Key: "8e03978e-40d5";v=1"#],
    &["X-Idempotency-Key: 8e03978e-40d5"],
    &[r#"X-Idempotency-Key: "8e03978e-40d5""#],
    &[
        "Idempotency-Key: 8e03978e-40d5",
        r#"Idempotency-Key: "8e03978e-40d5""#,
    ],
    &[
        "Idempotency-Key: 8e03978e-40d5",
        "X-Idempotency-Key: 8e03978e-40d5",
    ],
    // As a proxy joins equal lines.
    &["Idempotency-Key: 8e03978e-40d5, 8e03978e-40d5"],
    &["Idempotency-Key: 8e03978e-40d5,8e03978e-40d5 , 8e03978e-40d5"],
    &[r#"Idempotency-Key: "8e03978e-40d5", "8e03978e-40d5""#],
    &[r#"Idempotency-Key: "8e03978e-40d5";v="a,b", "8e03978e-40d5";v="a,b""#],
];

pub(crate) async fn spellings_of_one_key_are_one_key<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let mut bodies = Vec::new();
    for lines in ONE_KEY {
        let (status, _, body) = curl(&shop, "/orders", lines).await;
        assert_eq!(status, 201, "{lines:?}: {body}");
        bodies.push(body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    assert_eq!(shop.count().await, (1, 1));
}

pub(crate) async fn what_is_no_one_key_is_refused_and_says_which_header_and_why<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let overlong = format!("Idempotency-Key: {}", "k".repeat(256));
    let cases: [(&[&str], &str); 16] = [
        (&["Idempotency-Key;"], "key is empty"),
        (&[r#"Idempotency-Key: """#], "key is empty"),
        (&[r#"Idempotency-Key: "  ""#], "key is empty"),
        (&[&overlong], "key is 256 characters long; the limit is 255"),
        (
            &["Idempotency-Key: a", "Idempotency-Key: b"],
            "header `Idempotency-Key` is given more than once",
        ),
        (
            &["Idempotency-Key: a", "X-Idempotency-Key: b"],
            "header `X-Idempotency-Key` differs from header `Idempotency-Key`",
        ),
        (
            &["Idempotency-Key: a, b"],
            "header `Idempotency-Key` is given more than once",
        ),
        (
            &["X-Idempotency-Key: a,b"],
            "header `X-Idempotency-Key` is given more than once",
        ),
        (
            &[r#"Idempotency-Key: a, "a""#],
            "header `Idempotency-Key` is given more than once",
        ),
        (&["Idempotency-Key: a,"], "key is empty"),
        (
            &["Idempotency-Key: a b"],
            "header `Idempotency-Key` has ' ' at character 1",
        ),
        (
            &["Idempotency-Key: a;v=1"],
            "header `Idempotency-Key` has ';' at character 1",
        ),
        (
            &[r#"Idempotency-Key: "a"#],
            "header `Idempotency-Key` is not a string by RFC 8941",
        ),
        (
            &[r#"Idempotency-Key: "a", "b""#],
            "header `Idempotency-Key` is given more than once",
        ),
        (
            &["Idempotency-Key: käse"],
            "header `Idempotency-Key` is not a string by RFC 8941",
        ),
        (
            &[r#"Idempotency-Key: "käse""#],
            "header `Idempotency-Key` is not a string by RFC 8941",
        ),
    ];
    for path in ["/orders", "/notes"] {
        for (lines, reason) in &cases {
            let (status, headers, body) = curl(&shop, path, lines).await;
            assert_eq!(status, 400, "{lines:?}: {body}");
            assert_eq!(
                headers["content-type"], "application/problem+json",
                "{lines:?}"
            );
            assert!(body.contains(r#""code":"invalid""#), "{lines:?}: {body}");
            assert!(body.contains(reason), "{lines:?}: {body}");
        }
    }
    assert_eq!(shop.count().await, (0, 0));
}

pub(crate) async fn the_longest_key_is_accepted<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let longest = format!("Idempotency-Key: \"{}\"", "k".repeat(255));
    assert_eq!(curl(&shop, "/orders", &[&longest]).await.0, 201);
}

pub(crate) async fn under_strict_syntax_only_the_drafts_form_is_a_key<F: Framework>() {
    let shop = Shop::open_under::<F>([HttpPolicy::new().strict()]).await;
    let cases: [(&[&str], &str); 6] = [
        (&[r#"Idempotency-Key: "a", "a""#], "invalid"),
        (&["Idempotency-Key: 8e03978e"], "invalid"),
        (&["Idempotency-Key: token"], "invalid"),
        (&["Idempotency-Key: 17"], "invalid"),
        (
            &[r#"Idempotency-Key: "a""#, r#"Idempotency-Key: "a""#],
            "invalid",
        ),
        (&[r#"X-Idempotency-Key: "a""#], "key-missing"),
    ];
    for (lines, code) in cases {
        let (status, _, body) = curl(&shop, "/orders", lines).await;
        assert_eq!(status, 400, "{lines:?}: {body}");
        assert!(
            body.contains(&format!(r#""code":"{code}""#)),
            "{lines:?}: {body}"
        );
    }
    assert_eq!(shop.count().await, (0, 0));
    let (status, ..) = curl(&shop, "/orders", &[r#"Idempotency-Key: "a""#]).await;
    assert_eq!(status, 201);
}

pub(crate) async fn a_key_that_strict_syntax_does_not_read_is_refused_where_none_is_required_too<
    F: Framework,
>() {
    let shop = Shop::open_under::<F>([HttpPolicy::new().strict()]).await;
    let (status, _, body) = curl(&shop, "/notes", &["X-Idempotency-Key: a"]).await;
    assert_eq!(status, 400, "{body}");
    assert!(body.contains(r#""code":"key-missing""#), "{body}");
    assert_eq!(shop.count().await, (0, 0));
    assert_eq!(curl(&shop, "/notes", &[]).await.0, 200);
}
