//! Calls that their host cancels, and sessions that end, while a body runs.

use idem_runtime::meta::MetaNames;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use rmcp::service::{Peer, RoleClient};
use serde_json::Value;

use crate::client::{call, content, problem};
use crate::server::{Counter, Shop, connect};

/// Repeats a call until its key is no longer in flight.
pub(crate) async fn repeated(client: &Peer<RoleClient>, key: &str) -> Value {
    let answered = async {
        loop {
            let answer = call("place_order", "tea").keyed(key).send(client).await;
            let answer = answer.expect("an answer");
            if answer.is_error == Some(false) {
                break content(&answer).clone();
            }
            assert_eq!(problem(&answer)["code"], "in-flight");
        }
    };
    in_time("the key stays in flight", answered).await
}

/// rmcp lets a cancelled call go on and drops its answer: the effect is whole, and a retry gets it.
#[tokio::test]
async fn a_call_that_its_host_cancels_has_its_whole_effect_or_none() {
    let shop = Shop::open().await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let before = shop.count().await;
        let key = format!("mcp-cancelled-{point:?}");
        let gate = Gate::at(&key, point);
        let (client, by) = (shop.client.clone(), key.clone());
        let going =
            tokio::spawn(async move { call("place_order", "tea").keyed(&by).send(&client).await });
        gate.entered().await;
        // The client sends `notifications/cancelled`.
        going.abort();
        assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
        assert_eq!(shop.count().await, before);
        drop(gate);
        repeated(&shop.client, &key).await;
        let after = shop.count().await;
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
    }
}

#[tokio::test]
async fn a_call_whose_session_ends_has_its_whole_effect_or_none() {
    let shop = Shop::open().await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let before = shop.count().await;
        let key = format!("mcp-ended-{point:?}");
        let gate = Gate::at(&key, point);
        let session = connect(Counter::new(shop.pool.clone(), MetaNames::default())).await;
        let (client, by) = (session.clone(), key.clone());
        let going = tokio::spawn(async move {
            let call = call("place_order", "tea").keyed(&by);
            // The session ends before an answer.
            let gone = tokio::spawn(async move { call.send(&client).await.map(drop) });
            let _ = gone.await;
        });
        gate.entered().await;
        session.cancel().await.expect("no panic");
        going.await.expect("no panic");
        assert_eq!(shop.count().await, before);
        drop(gate);
        repeated(&shop.client, &key).await;
        let after = shop.count().await;
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
    }
}
