//! A key that is in flight, and clients that wait as they are told.

use std::time::Duration;

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use tonic::metadata::MetadataMap;
use tonic::{Code, Response, Status};

use crate::client::{is_replay, order, refused, send_order};
use crate::shop::Shop;
use idem_tests_grpc::proto::Placed;

/// A client with a retry policy as gRFC A6 describes it: it retries `UNAVAILABLE` and nothing else, waits as long as the
/// server's pushback says, and stops where that is negative. Returns the last answer, and the waits before it.
async fn with_policy(shop: &Shop, key: &str) -> (Result<Response<Placed>, Status>, Vec<Duration>) {
    let mut waits = Vec::new();
    loop {
        let answer = send_order(shop, order(key, "tea")).await;
        let pushback = |metadata: &MetadataMap| {
            let value = metadata.get("grpc-retry-pushback-ms")?.to_str().ok()?;
            u64::try_from(value.parse::<i32>().ok()?).ok()
        };
        let wait = match &answer {
            Err(status) if status.code() == Code::Unavailable => pushback(status.metadata()),
            _ => None,
        };
        let Some(wait) = wait.map(Duration::from_millis) else {
            return (answer, waits);
        };
        waits.push(wait);
        tokio::time::sleep(wait).await;
    }
}

#[tokio::test]
async fn a_duplicate_is_told_when_to_come_back_and_then_gets_the_answer() {
    let shop = Shop::open().await;
    let gate = Gate::at("grpc-in-flight", GatePoint::AfterWrite);
    let mut client = shop.client();
    let first = tokio::spawn(async move { client.place(order("grpc-in-flight", "tea")).await });
    gate.entered().await;
    let status = send_order(&shop, order("grpc-in-flight", "tea")).await;
    let refusal = refused(&status.expect_err("it runs"));
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "IN_FLIGHT");
    assert!(refusal.retry_after.is_some_and(|wait| !wait.is_zero()));
    gate.open();
    let first = first.await.expect("no panic").expect("placed");
    let again = send_order(&shop, order("grpc-in-flight", "tea")).await;
    assert_eq!(again.expect("replayed").get_ref(), first.get_ref());
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_retry_policy_waits_for_the_first_run_and_ends_with_its_replay() {
    let shop = Shop::open().await;
    let gate = Gate::at("grpc-policy", GatePoint::AfterWrite);
    let mut client = shop.client();
    let first = tokio::spawn(async move { client.place(order("grpc-policy", "tea")).await });
    gate.entered().await;
    let retried = async {
        let refused = send_order(&shop, order("grpc-policy", "tea")).await;
        assert_eq!(refused.expect_err("it runs").code(), Code::Unavailable);
        gate.open();
        with_policy(&shop, "grpc-policy").await
    };
    let (retried, _) = in_time("the policy does not end", retried).await;
    let retried = retried.expect("replayed");
    assert!(is_replay(retried.metadata()));
    let first = first.await.expect("no panic").expect("placed");
    assert_eq!(first.get_ref(), retried.get_ref());
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_retry_policy_is_told_to_stop_where_a_retry_does_not_help() {
    let shop = Shop::open().await;
    send_order(&shop, order("a", "coffee"))
        .await
        .expect("placed");
    let (mismatch, waits) = with_policy(&shop, "a").await;
    let refusal = refused(&mismatch.expect_err("refused"));
    assert_eq!((refusal.reason.as_str(), waits.len()), ("MISMATCH", 0));
}
