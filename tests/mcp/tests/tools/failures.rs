//! Recorded failures, unknown outcomes, and a store that is gone.

use crate::client::{call, is_replay, problem, protocol};
use crate::server::Shop;

#[tokio::test]
async fn a_replayed_failure_says_that_it_is_one_and_a_first_one_does_not() {
    let shop = Shop::open().await;
    for replayed in [false, true, true] {
        let declined = call("decline", "tea").keyed("a").send(&shop.client).await;
        let declined = declined.expect("a tool error");
        assert_eq!(declined.is_error, Some(true));
        assert_eq!(
            declined.content[0].as_text().expect("text").text,
            "no tea today"
        );
        assert_eq!(is_replay(&declined), replayed);
    }
    let mismatch = call("decline", "coffee")
        .keyed("a")
        .send(&shop.client)
        .await;
    let mismatch = mismatch.expect("a tool error");
    assert_eq!(problem(&mismatch)["code"], "mismatch");
    assert!(!is_replay(&mismatch));
    assert_eq!(shop.count().await, (0, 1));
}

#[tokio::test]
async fn a_model_is_told_of_an_unknown_outcome_whoever_has_the_key() {
    let shop = Shop::open().await;
    let first = call("send", "tea").keyed("a").send(&shop.client).await;
    assert_eq!(first.expect("a tool error").is_error, Some(true));
    for again in [
        call("send", "tea").keyed("a"),
        call("send", "tea").hosted("a"),
    ] {
        let again = again.send(&shop.client).await.expect("a tool error");
        let problem = problem(&again);
        assert_eq!(problem["code"], "outcome-unknown");
        assert!(problem.get("retry_after").is_none());
    }
}

#[tokio::test]
async fn without_its_store_a_tool_does_nothing_and_says_when_to_repeat_the_call() {
    let shop = Shop::open().await;
    shop.pool.close().await;
    let model = call("place_order", "tea")
        .keyed("a")
        .send(&shop.client)
        .await;
    let problem = problem(&model.expect("a tool error"));
    assert_eq!(problem["code"], "unavailable");
    assert!(problem["retry_after"].as_u64().is_some());
    let host = call("place_order", "tea")
        .hosted("a")
        .send(&shop.client)
        .await;
    let host = host.expect_err("a protocol error");
    assert_eq!(protocol(&host), (503, "unavailable".to_owned()));
}

#[tokio::test]
async fn a_tool_with_an_output_schema_has_its_problem_as_text() {
    let shop = Shop::open().await;
    for item in ["tea", "coffee"] {
        let call = call("place_described", item).keyed("a");
        let answer = call.send(&shop.client).await.expect("an answer");
        if item == "coffee" {
            assert_eq!(answer.structured_content, None);
            assert_eq!(problem(&answer)["code"], "mismatch");
        }
    }
}
