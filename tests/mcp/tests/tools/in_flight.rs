//! A key that is in flight: who has the key is told to repeat the call.

use idem_tests::gate::{Gate, GatePoint};
use rmcp::service::{Peer, RoleClient};

use crate::client::{Asked, call, content, is_replay, problem, protocol};
use crate::server::Shop;

/// Starts a call that stops after its write.
async fn begun(
    client: &Peer<RoleClient>,
    key: &str,
    call: Asked,
) -> (Gate, tokio::task::JoinHandle<i64>) {
    let gate = Gate::at(key, GatePoint::AfterWrite);
    let client = client.clone();
    let first = tokio::spawn(async move {
        let placed = call.send(&client).await.expect("placed");
        assert!(!is_replay(&placed));
        content(&placed)["number"].as_i64().expect("a number")
    });
    gate.entered().await;
    (gate, first)
}

#[tokio::test]
async fn a_model_with_the_key_is_told_when_to_repeat_the_call_and_then_gets_the_result() {
    let shop = Shop::open().await;
    let order = || call("place_order", "tea").keyed("mcp-model");
    let (gate, first) = begun(&shop.client, "mcp-model", order()).await;
    let duplicate = order().send(&shop.client).await.expect("a tool error");
    let problem = problem(&duplicate);
    assert_eq!(problem["code"], "in-flight");
    assert!(problem["retry_after"].as_u64().is_some_and(|wait| wait > 0));
    gate.open();
    let first = first.await.expect("no panic");
    let again = order().send(&shop.client).await.expect("replayed");
    assert!(is_replay(&again));
    assert_eq!(content(&again)["number"], first);
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_host_with_the_key_is_told_when_to_repeat_the_call_and_the_model_is_not() {
    let shop = Shop::open().await;
    let order = || call("place_by_host", "tea").hosted("mcp-host");
    let (gate, first) = begun(&shop.client, "mcp-host", order()).await;
    let duplicate = order()
        .send(&shop.client)
        .await
        .expect_err("a protocol error");
    assert_eq!(protocol(&duplicate), (409, "in-flight".to_owned()));
    let wait = &duplicate.data.expect("a problem")["retry_after"];
    assert!(wait.as_u64().is_some_and(|wait| wait > 0));
    gate.open();
    let first = first.await.expect("no panic");
    let again = order().send(&shop.client).await.expect("replayed");
    assert_eq!(content(&again)["number"], first);
    assert_eq!(shop.count().await, (1, 1));
}
