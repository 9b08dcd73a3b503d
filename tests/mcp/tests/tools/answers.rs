//! Replays, mismatches and scopes.

use idem_runtime::meta::MetaNames;
use rmcp::model::CallToolResult;

use crate::client::{call, content, is_replay, problem};
use crate::server::{Counter, Shop, TENANT, connect};

fn expect(result: &CallToolResult, number: i64, replayed: bool) {
    assert_eq!(content(result)["number"], number);
    assert_eq!(is_replay(result), replayed);
}

#[tokio::test]
async fn a_retry_gets_the_first_result_and_its_meta_says_that_it_is_a_replay() {
    let shop = Shop::open().await;
    for replayed in [false, true, true] {
        let placed = call("place_order", "tea")
            .keyed("a")
            .send(&shop.client)
            .await;
        expect(&placed.expect("placed"), 1, replayed);
    }
    // A host that was started again has a session of its own.
    let again = connect(Counter::new(shop.pool.clone(), MetaNames::default())).await;
    let placed = call("place_order", "tea").keyed("a").send(&again).await;
    expect(&placed.expect("placed"), 1, true);
    assert_eq!(shop.count().await, (1, 1));
}

/// The argument is no part of the compared request: the record does not tell by which of the two the key came.
#[tokio::test]
async fn a_key_in_the_meta_and_the_same_key_as_an_argument_are_one_call() {
    let shop = Shop::open().await;
    let calls = [
        call("place_order", "tea").hosted("a"),
        call("place_order", "tea").keyed("a"),
        call("place_order", "tea").keyed("a").hosted("a"),
        call("place_by_host", "tea").hosted("a"),
    ];
    for (index, call) in calls.into_iter().enumerate() {
        let placed = call.send(&shop.client).await.expect("placed");
        expect(&placed, 1, index > 0);
    }
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_natural_key_needs_no_other_and_the_same_arguments_have_no_further_effect() {
    let shop = Shop::open().await;
    for (replayed, key) in [(false, "a"), (true, "b")] {
        let shipped = call("ship", "tea").hosted(key).send(&shop.client).await;
        expect(&shipped.expect("shipped"), 1, replayed);
    }
    let other = call("ship", "coffee").send(&shop.client).await;
    expect(&other.expect("shipped"), 2, false);
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn other_arguments_under_the_key_are_refused_and_so_is_another_tool() {
    let shop = Shop::open().await;
    let placed = call("place_order", "tea")
        .keyed("a")
        .send(&shop.client)
        .await;
    placed.expect("placed");
    for call in [call("place_order", "coffee"), call("note", "tea")] {
        let refused = call.keyed("a").send(&shop.client).await;
        let problem = problem(&refused.expect("a tool error"));
        assert_eq!(problem["code"], "mismatch");
        assert_eq!(problem["status"], 422);
    }
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_key_belongs_to_the_tenant_and_without_a_tenant_nothing_is_done() {
    let shop = Shop::open().await;
    for (number, tenant) in [(1, "acme"), (2, "globex")] {
        let order = call("place_order", "tea").keyed("a").meta(TENANT, tenant);
        let placed = order.send(&shop.client).await.expect("placed");
        expect(&placed, number, false);
    }
    let nobody = call("place_order", "tea").keyed("a").meta(TENANT, ());
    let refused = nobody.send(&shop.client).await.expect_err("refused");
    assert_eq!(refused.code.0, -32603);
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn a_tool_without_a_required_key_runs_without_one_and_replays_with_one() {
    let shop = Shop::open().await;
    for number in 1..=2 {
        let noted = call("note", "tea").send(&shop.client).await;
        expect(&noted.expect("noted"), number, false);
    }
    for replayed in [false, true] {
        let noted = call("note", "tea").keyed("n").send(&shop.client).await;
        expect(&noted.expect("noted"), 3, replayed);
    }
    assert_eq!(shop.count().await, (3, 1));
}

#[tokio::test]
async fn a_vendor_has_names_of_its_own() {
    let shop = Shop::open_with(MetaNames::of("com.example")).await;
    for replayed in [false, true] {
        let order = call("place_by_host", "tea").meta("com.example/idempotencyKey", "a");
        let placed = order.send(&shop.client).await.expect("placed");
        let meta = placed.meta.as_ref();
        let marked = meta.and_then(|meta| meta.get("com.example/idempotentReplayed"));
        assert_eq!(marked.is_some(), replayed);
    }
    let unread = call("place_by_host", "tea").hosted("a");
    assert_eq!(
        unread.send(&shop.client).await.expect_err("refused").code.0,
        -32602
    );
    assert_eq!(shop.count().await, (1, 1));
}
