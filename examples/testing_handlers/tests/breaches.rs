//! What the kit says of a handler that breaks a law.

#![allow(
    clippy::large_futures,
    reason = "a test is written as its reader would write it"
)]

use std::sync::atomic::{AtomicI64, Ordering};

use idem_runtime::{Error, IdempotencyKey, idempotent, testing};
use sqlx::{SqlitePool, SqliteTransaction};
use tokio::task::yield_now;

#[derive(Debug, thiserror::Error)]
enum CountError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
}

/// Has its effect outside the transaction, where an interruption leaves it.
#[idempotent(namespace = "breaches", key_required = false, skip(effects))]
async fn count_beside(
    tx: &mut SqliteTransaction<'_>,
    key: Option<&IdempotencyKey>,
    effects: &AtomicI64,
) -> Result<i64, CountError> {
    let counted = effects.fetch_add(1, Ordering::SeqCst);
    sqlx::query("SELECT 1").execute(&mut **tx).await?;
    // An answer of a file may be there at once: there are awaits at which every call waits.
    for _ in 0..32 {
        yield_now().await;
    }
    Ok(counted)
}

#[sqlx::test]
#[should_panic(expected = "2 effects in place of 1")]
async fn an_effect_outside_the_transaction_is_found(pool: SqlitePool) {
    testing::install(&pool).await;
    let effects = AtomicI64::new(0);
    testing::interrupted_at_every_await(
        async || effects.load(Ordering::SeqCst),
        async |key| count_beside(&pool, Some(key), &effects).await,
    )
    .await;
}

#[sqlx::test]
#[should_panic(expected = "`count` does not see the effect")]
async fn a_count_of_something_else_is_found(pool: SqlitePool) {
    testing::install(&pool).await;
    let effects = AtomicI64::new(0);
    let call = async |key: &IdempotencyKey| count_beside(&pool, Some(key), &effects).await;
    testing::interrupted_at_every_await(async || 0, call).await;
}

#[sqlx::test]
#[should_panic(expected = "the repeated call ran the body again")]
async fn a_call_without_a_key_is_found(pool: SqlitePool) {
    testing::install(&pool).await;
    let effects = AtomicI64::new(0);
    testing::twice(|| count_beside(&pool, None, &effects)).await;
}

#[sqlx::test]
#[should_panic(expected = "its key was used before")]
async fn a_key_that_was_used_before_proves_nothing(pool: SqlitePool) {
    testing::install(&pool).await;
    let (key, effects) = (testing::key("k"), AtomicI64::new(0));
    testing::twice(|| count_beside(&pool, Some(&key), &effects)).await;
    testing::twice(|| count_beside(&pool, Some(&key), &effects)).await;
}

#[sqlx::test]
#[should_panic(expected = "2 effects in place of one")]
async fn a_second_effect_is_counted(pool: SqlitePool) {
    testing::install(&pool).await;
    let effects = AtomicI64::new(0);
    let calls = async {
        for _ in 0..2 {
            count_beside(&pool, None, &effects).await.expect("counted");
        }
    };
    testing::one_effect(async || effects.load(Ordering::SeqCst), calls).await;
}

#[sqlx::test]
#[should_panic(expected = "the key has no lease that could lapse")]
async fn what_is_no_lease_does_not_lapse(pool: SqlitePool) {
    testing::install(&pool).await;
    let (key, effects) = (testing::key("k"), AtomicI64::new(0));
    count_beside(&pool, Some(&key), &effects)
        .await
        .expect("counted");
    let records = testing::Records::in_namespace(&pool, "breaches");
    records.lapse(&key).await;
}
