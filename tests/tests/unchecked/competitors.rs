//! Competing attempts whose bodies run concurrently.

use std::collections::HashSet;

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests::postgres::fresh_key;
use idem_tests::postgres::payments::{Paid, Pay, PayError, pay, pay_in_vain};
use sqlx::PgPool;
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };

/// Fails on purpose the first `failures` times, and retries until the payment is made.
async fn insist(pool: PgPool, key: IdempotencyKey, failures: usize) -> Paid {
    for _ in 0..failures {
        match pay_in_vain(&pool, &key, &CMD).await {
            // Another attempt had paid before.
            Ok(paid) => return *paid,
            Err(PayError::BankDown) => {}
            Err(PayError::Idempotency(error)) if error.is_retryable() => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    in_time("a call gets no answer", async {
        loop {
            match pay(&pool, &key, &CMD).await {
                Ok(paid) => return *paid,
                Err(PayError::Idempotency(error)) if error.is_retryable() => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_competitors_with_wilful_rollbacks_have_one_effect_a_key() {
    let shop = crate::shop(8).await;
    for _ in 0..25 {
        let key = fresh_key();
        let mut all = JoinSet::new();
        for competitor in 0..8 {
            all.spawn(insist(shop.pool.clone(), key.clone(), competitor % 3));
        }
        let distinct: HashSet<i64> = all.join_all().await.iter().map(|paid| paid.id).collect();
        assert_eq!(distinct.len(), 1, "{distinct:?}");
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn the_loser_waits_for_the_winner_and_replays_its_result() {
    let shop = crate::shop(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    // Both bodies have written before either continues.
    let both = async {
        gate.entered().await;
        gate.entered().await;
        gate.open();
        gate.open();
    };
    let (one, two, ()) = tokio::join!(
        pay(&shop.pool, &key, &CMD),
        pay(&shop.pool, &key, &CMD),
        both
    );
    let (one, two) = (one.expect("it pays"), two.expect("it pays"));
    assert_ne!(one.replayed(), two.replayed());
    assert_eq!(*one, *two);
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn the_loser_runs_on_where_the_winner_rolls_back() {
    let shop = crate::shop(2).await;
    let key = fresh_key();
    let mut winner = shop.pool.begin().await.expect("a transaction");
    pay(&mut winner, &key, &CMD).await.expect("fresh");
    let yield_to_loser = async {
        shop.observer().await.until_blocked(1).await;
        winner.rollback().await.expect("the server answers");
    };
    let (paid, ()) = tokio::join!(pay(&shop.pool, &key, &CMD), yield_to_loser);
    assert!(!paid.expect("the key is fresh").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn the_loser_of_another_request_is_a_mismatch() {
    let shop = crate::shop(2).await;
    let key = fresh_key();
    let mut winner = shop.pool.begin().await.expect("a transaction");
    pay(&mut winner, &key, &CMD).await.expect("fresh");
    let commit = async {
        shop.observer().await.until_blocked(1).await;
        winner.commit().await.expect("nothing is wrong with it");
    };
    let (paid, ()) = tokio::join!(pay(&shop.pool, &key, &Pay { amount: 2 }), commit);
    let refusal = paid.expect_err("it differs").refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    shop.assert_one_effect(&key).await;
}
