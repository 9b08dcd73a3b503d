//! How many runs there are at once.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;

use crate::relay::{Relay, refusal, scoped, send};

#[tokio::test]
async fn runs_whose_clients_have_hung_up_count_and_a_request_over_the_limit_claims_nothing() {
    let relay = Relay::open_with(|layer| scoped(layer).max_concurrent(2)).await;
    let keys = ["limit-a", "limit-b"];
    let gates = keys.map(|key| Gate::at(key, GatePoint::AfterWrite));
    for (key, gate) in keys.iter().zip(&gates) {
        let going = tokio::spawn(relay.post("order", key).send());
        gate.entered().await;
        going.abort();
        assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
    }
    let over = relay.post("order", "limit-c").send().await;
    let over = over.expect("an answer");
    assert_eq!(over.status(), 503);
    assert!(over.headers().contains_key("retry-after"));
    assert_eq!(
        refusal(relay.post("order", "limit-c")).await,
        (503, "try-again".to_owned())
    );
    let records: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&relay.pool)
        .await
        .expect("it can be read");
    assert_eq!((records, relay.runs()), (2, 2));
    for gate in &gates {
        gate.open();
    }
    for key in keys {
        in_time("the key stays in flight", async {
            while send(relay.post("order", key)).await.0 != 201 {}
        })
        .await;
    }
    assert_eq!(send(relay.post("order", "limit-c")).await.0, 201);
    assert_eq!(relay.runs(), 3);
}
