//! Nodes that crash or are disconnected.

use idem_runtime::Error;
use idem_tests::mysql::payments::{Pay, pay};
use idem_tests::mysql::{Chain, fresh_key, may_retry, pay_at_last};
use sqlx::Executor as _;
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };

#[tokio::test]
async fn what_a_node_killed_in_its_commits_has_left_open_retries_elsewhere_settle_once() {
    let mut chain = Chain::open(12).await;
    let keys: Vec<_> = (0..12).map(|_| fresh_key()).collect();
    let mut observer = chain.observer(0).await;
    // COMMIT waits for all members of the group, and this one does not answer.
    chain.galera.nodes_mut()[1].pause().expect("it runs");
    let mut callers = JoinSet::new();
    for key in &keys {
        let (pool, key) = (chain.pools[0].clone(), key.clone());
        callers.spawn(async move {
            let paid = pay(&pool, &key, &CMD).await;
            paid.map(|paid| (key, paid.into_inner()))
        });
    }
    observer
        .until(
            "(SELECT count(*) FROM information_schema.processlist \
             WHERE db = DATABASE() AND info = 'COMMIT') = 12",
        )
        .await;
    chain.galera.nodes_mut()[0].kill().expect("it runs");
    chain.galera.nodes_mut()[1].proceed().expect("it runs");
    let mut reported = Vec::new();
    for outcome in callers.join_all().await {
        match outcome {
            Ok(paid) => reported.push(paid),
            Err(error) => assert!(may_retry(&error), "{error:?}"),
        }
    }
    let mut settled = Vec::new();
    for key in &keys {
        let paid = pay_at_last(&chain.pools[1], key, &CMD).await.into_inner();
        let again = pay_at_last(&chain.pools[2], key, &CMD).await;
        assert!(again.replayed());
        assert_eq!(again.into_inner(), paid);
        chain.assert_one_effect(&[1, 2], key).await;
        settled.push((key.clone(), paid));
    }
    for paid in reported {
        assert!(settled.contains(&paid), "told, and not kept: {paid:?}");
    }
    // The node cannot trust its own state and copies that of another node.
    chain.galera.nodes_mut()[0].resume().expect("it joins");
    for (key, paid) in settled {
        let again = pay_at_last(&chain.pools[0], &key, &CMD).await;
        assert!(again.replayed());
        assert_eq!(again.into_inner(), paid);
    }
}

#[tokio::test]
async fn a_node_that_is_cut_off_refuses_and_replays_once_it_is_back() {
    let chain = Chain::open(2).await;
    let (before, after) = (fresh_key(), fresh_key());
    let first = pay_at_last(&chain.pools[2], &before, &CMD).await;
    let mut observer = chain.observer(2).await;
    let mut operator = chain.connect(2).await;
    operator
        .execute("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
        .await
        .expect("it is a node of a cluster");
    observer
        .until(&status("cluster_status", "<> 'Primary'"))
        .await;

    // The node neither pays nor replays: it cannot know the commits of the others.
    for key in [&before, &after] {
        let refusal = pay(&chain.pools[2], key, &CMD).await;
        let refusal = refusal.expect_err("it does not serve").refusal();
        assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
        assert!(refusal.is_retryable());
    }
    let second = pay_at_last(&chain.pools[0], &after, &CMD).await;
    assert!(!second.replayed());

    operator
        .execute("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
        .await
        .expect("it is a node of a cluster");
    observer
        .until(&status("local_state_comment", "= 'Synced'"))
        .await;
    for (key, paid) in [(before, first), (after, second)] {
        let again = pay_at_last(&chain.pools[2], &key, &CMD).await;
        assert!(again.replayed());
        assert_eq!(again.into_inner(), paid.into_inner());
        chain.assert_one_effect(&[0, 1, 2], &key).await;
    }
}

fn status(name: &str, is: &str) -> String {
    format!(
        "(SELECT variable_value {is} FROM information_schema.global_status \
         WHERE variable_name = 'wsrep_{name}')"
    )
}
