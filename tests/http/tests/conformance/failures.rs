//! Failures that are recorded, and how a replayed one is answered.

use idem_tests_http::client::{problem, send, text};
use idem_tests_http::{Framework, Shop};
use reqwest::{Client, RequestBuilder, StatusCode};

fn declined(shop: &Shop, path: &str, item: &str) -> RequestBuilder {
    Client::new()
        .post(format!("{}{path}", shop.url))
        .header("x-tenant", "acme")
        .header("idempotency-key", "\"a\"")
        .header("content-type", "application/json")
        .body(format!(r#"{{"item":"{item}"}}"#))
}

pub(crate) async fn a_replayed_failure_says_that_it_is_one_and_a_first_one_does_not<
    F: Framework,
>() {
    let shop = Shop::open::<F>().await;
    for replayed in [None, Some("true"), Some("true")] {
        let answer = send(declined(&shop, "/declined", "tea")).await;
        assert_eq!(answer.status(), StatusCode::GONE);
        let header = answer.headers().get("idempotent-replayed").map(text);
        assert_eq!(header, replayed);
        assert_eq!(answer.text().await.expect("a body"), "no tea today");
    }
    let mismatch = send(declined(&shop, "/declined", "coffee")).await;
    assert!(!mismatch.headers().contains_key("idempotent-replayed"));
    assert_eq!(problem(mismatch).await["code"], "mismatch");
    // And where only the library can carry it.
    let answer = send(declined(&shop, "/declined-no-longer", "tea")).await;
    assert_eq!(text(&answer.headers()["idempotent-replayed"]), "true");
    assert_eq!(problem(answer).await["code"], "recorded-failure");
    assert_eq!(shop.count().await, (0, 1));
}
