//! Duplicates that meet at different nodes of a healthy cluster.

use std::collections::HashSet;

use idem_runtime::Error;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::mysql::payments::{Pay, PayError, pay};
use idem_tests::mysql::{Chain, fresh_key, may_retry, pay_at_last};
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };
const ALL: [usize; 3] = [0, 1, 2];

#[tokio::test]
async fn duplicates_sent_to_different_nodes_have_one_effect_and_one_result() {
    let chain = Chain::open(8).await;
    for _ in 0..12 {
        let key = fresh_key();
        let mut callers = JoinSet::new();
        for caller in 0..24 {
            let (pool, key) = (chain.pools[caller % 3].clone(), key.clone());
            callers.spawn(async move { pay_at_last(&pool, &key, &CMD).await });
        }
        let all = callers.join_all().await;
        let fresh = all.iter().filter(|paid| !paid.replayed()).count();
        assert_eq!(fresh, 1, "calls that say they have paid");
        let distinct: HashSet<_> = all.into_iter().map(|paid| paid.into_inner().id).collect();
        assert_eq!(distinct.len(), 1, "{distinct:?}");
        chain.assert_one_effect(&ALL, &key).await;
    }
}

#[tokio::test]
async fn of_two_that_have_both_paid_at_commit_one_stays_and_the_other_may_retry() {
    let chain = Chain::open(2).await;
    let mut lost = 0;
    for _ in 0..12 {
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
        // No node sees the other's claim: both have passed their claim and have written.
        let meet = async move {
            gate.entered().await;
            gate.entered().await;
            drop(gate);
        };
        let (one, other, ()) = tokio::join!(
            pay(&chain.pools[0], &key, &CMD),
            pay(&chain.pools[1], &key, &CMD),
            meet
        );
        let (stays, goes) = match (one, other) {
            (Ok(one), other) if !one.replayed() => (one, other),
            (one, Ok(other)) if !other.replayed() => (other, one),
            neither => panic!("nobody has paid: {neither:?}"),
        };
        match goes {
            Ok(paid) => assert!(paid.replayed(), "both have paid"),
            Err(error) => {
                assert!(may_retry(&error), "{error:?}");
                let refusal = PayError::refusal(error);
                lost += usize::from(matches!(refusal, Error::TransactionLost(_)));
            }
        }
        let stays = stays.into_inner();
        for pool in &chain.pools {
            let again = pay_at_last(pool, &key, &CMD).await;
            assert!(again.replayed());
            assert_eq!(again.into_inner(), stays);
        }
        chain.assert_one_effect(&ALL, &key).await;
    }
    assert!(lost > 0, "certification has refused nobody");
}
