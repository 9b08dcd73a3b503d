//! Recorded failures, unknown outcomes, and a store that is gone.

use tonic::Code;

use crate::client::{is_replay, order, refused, send_order, why};
use crate::shop::Shop;

#[tokio::test]
async fn a_replayed_failure_says_that_it_is_one_and_a_first_one_does_not() {
    let shop = Shop::open().await;
    for replayed in [false, true, true] {
        let status = shop.client().decline(order("a", "tea")).await;
        let status = status.expect_err("declined");
        assert_eq!(
            (status.code(), status.message()),
            (Code::NotFound, "no tea today")
        );
        assert_eq!(is_replay(status.metadata()), replayed);
    }
    let mismatch = shop.client().decline(order("a", "coffee")).await;
    let mismatch = mismatch.expect_err("refused");
    assert_eq!(why(&mismatch).1, "MISMATCH");
    assert!(!is_replay(mismatch.metadata()));
    assert_eq!(shop.count().await, (0, 1));
}

#[tokio::test]
async fn an_unknown_outcome_is_not_retried_until_somebody_has_found_out() {
    let shop = Shop::open().await;
    let first = shop.client().send(order("a", "tea")).await;
    assert_eq!(first.expect_err("in doubt").code(), Code::Internal);
    let again = shop.client().send(order("a", "tea")).await;
    let refusal = refused(&again.expect_err("nobody knows"));
    assert_eq!(refusal.code, Code::FailedPrecondition);
    assert_eq!(refusal.reason, "OUTCOME_UNKNOWN");
    assert_eq!(refusal.retry_after, None);
}

#[tokio::test]
async fn without_its_store_a_method_does_nothing_and_says_when_to_come_back() {
    let shop = Shop::open().await;
    shop.pool.close().await;
    let status = send_order(&shop, order("a", "tea"))
        .await
        .expect_err("closed");
    let refusal = refused(&status);
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "UNAVAILABLE");
    assert!(refusal.retry_after.is_some());
    assert!(
        !status.message().to_lowercase().contains("pool"),
        "{status:?}"
    );
}
