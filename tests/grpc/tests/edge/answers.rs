//! Replays, mismatches and scopes.

use std::collections::HashMap;

use tonic::Code;

use crate::client::{is_replay, order, send_order, unkeyed, why};
use crate::shop::Shop;

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_its_metadata_say_that_it_is_a_replay() {
    let shop = Shop::open().await;
    let first = send_order(&shop, order("a", "tea")).await.expect("placed");
    assert!(!is_replay(first.metadata()));
    for _ in 0..2 {
        let again = send_order(&shop, order("a", "tea"))
            .await
            .expect("replayed");
        assert!(is_replay(again.metadata()));
        assert_eq!(again.get_ref(), first.get_ref());
    }
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn another_message_under_the_key_is_refused_and_so_is_another_method() {
    let shop = Shop::open().await;
    send_order(&shop, order("a", "tea")).await.expect("placed");
    let mismatch = (Code::FailedPrecondition, "MISMATCH".to_owned());
    let other = send_order(&shop, order("a", "coffee")).await;
    assert_eq!(why(&other.expect_err("refused")), mismatch);
    let method = shop.client().note(order("a", "tea")).await;
    assert_eq!(why(&method.expect_err("refused")), mismatch);
    assert_eq!(shop.count().await, (1, 1));
}

/// Prost writes a map in the order of a `HashMap`, which differs from one to the next: the bytes of equal messages differ.
#[tokio::test]
async fn what_the_message_says_is_compared_and_not_its_bytes() {
    let shop = Shop::open().await;
    let sizes = |upto: i32| (0..upto).map(|size| (size.to_string(), size));
    for call in 0..8 {
        let mut request = order("a", "tea");
        request.get_mut().sizes = sizes(32).collect::<HashMap<_, _>>();
        let answer = send_order(&shop, request).await.expect("one request");
        assert_eq!(is_replay(answer.metadata()), call > 0);
    }
    let mut fewer = order("a", "tea");
    fewer.get_mut().sizes = sizes(31).collect();
    let refusal = send_order(&shop, fewer).await.expect_err("refused");
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_key_belongs_to_the_tenant_and_without_a_tenant_nothing_is_done() {
    let shop = Shop::open().await;
    let mut other = order("a", "tea");
    let metadata = other.metadata_mut();
    metadata.insert("x-tenant", "globex".parse().expect("ASCII"));
    for request in [order("a", "tea"), other] {
        let placed = send_order(&shop, request).await.expect("placed");
        assert!(!is_replay(placed.metadata()));
    }
    let mut nobody = order("a", "tea");
    nobody.metadata_mut().remove("x-tenant");
    let refusal = send_order(&shop, nobody).await.expect_err("refused");
    assert_eq!(why(&refusal), (Code::Internal, "INTERNAL".to_owned()));
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn a_method_without_a_required_key_runs_without_one_and_replays_with_one() {
    let shop = Shop::open().await;
    for _ in 0..2 {
        let noted = shop.client().note(unkeyed("tea")).await.expect("noted");
        assert!(!is_replay(noted.metadata()));
    }
    for replayed in [false, true] {
        let noted = shop.client().note(order("n", "tea")).await.expect("noted");
        assert_eq!(is_replay(noted.metadata()), replayed);
    }
    assert_eq!(shop.count().await, (3, 1));
}
