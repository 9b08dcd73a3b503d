//! MySQL without the fast check: there is no look-up before the transaction, and the INSERT waits
//! for the competing one. Only the primary key decides.
//!
//! The switch applies to the whole process, so these tests have their own binary.

use std::collections::HashSet;

use idem_runtime::{IdempotencyKey, fast_check};
use idem_tests::mysql::payments::{Paid, Pay, PayError, pay, pay_in_vain};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::MySqlPool;
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };

/// Fails on purpose the first `failures` times, and retries until the payment is made. If an
/// attempt rolls back, its waiters deadlock with each other and retry as well.
async fn insist(pool: MySqlPool, key: IdempotencyKey, failures: usize) -> Paid {
    for attempt in 0.. {
        let paid = if attempt < failures {
            pay_in_vain(&pool, &key, &CMD).await
        } else {
            pay(&pool, &key, &CMD).await
        };
        match paid {
            Ok(paid) => return *paid,
            Err(PayError::BankDown) => {}
            Err(PayError::Idempotency(error)) if error.is_retryable() => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    unreachable!("attempts do not end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_fast_check_eight_competitors_with_wilful_rollbacks_have_one_effect_a_key() {
    fast_check::set(false);
    let shop = Shop::open(8).await;
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
