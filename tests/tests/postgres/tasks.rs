//! Calls from tasks and trait methods, whose futures must be `Send`.

use std::future::Future;
use std::sync::Arc;

use idem_runtime::{IdempotencyKey, Replayable, idempotent};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::PgPool;
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };

/// The shared state of a web server.
struct State {
    pool: PgPool,
}

trait Payments: Send + Sync {
    fn pay(
        &self,
        key: IdempotencyKey,
        cmd: Pay,
    ) -> impl Future<Output = Result<Replayable<Paid>, PayError>> + Send;
}

impl Payments for State {
    async fn pay(&self, key: IdempotencyKey, cmd: Pay) -> Result<Replayable<Paid>, PayError> {
        pay(&self.pool, &key, &cmd).await
    }
}

trait InTransaction: Send + Sync {
    fn pay_in(
        &self,
        tx: &mut PgTransaction<'_>,
        key: &IdempotencyKey,
        cmd: &Pay,
    ) -> impl Future<Output = Result<Paid, PayError>> + Send;
}

impl InTransaction for State {
    #[idempotent(
        namespace = "payments",
        operation = "pay",
        signature = "keep",
        skip(self)
    )]
    async fn pay_in(
        &self,
        tx: &mut PgTransaction<'_>,
        key: &IdempotencyKey,
        cmd: &Pay,
    ) -> Result<Paid, PayError> {
        charge(tx, key, cmd).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spawned_task_may_call_with_a_pool_borrowed_from_shared_state() {
    let shop = Shop::open(2).await;
    let state = Arc::new(State {
        pool: shop.pool.clone(),
    });
    let key = fresh_key();
    for replayed in [false, true] {
        let (state, key) = (Arc::clone(&state), key.clone());
        let paid = tokio::spawn(async move { pay(&state.pool, &key, &CMD).await });
        assert_eq!(
            paid.await.expect("no panic").expect("it pays").replayed(),
            replayed
        );
    }
    shop.assert_one_effect(&key).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trait_method_that_promises_send_may_call() {
    let shop = Shop::open(2).await;
    let state = Arc::new(State {
        pool: shop.pool.clone(),
    });
    let key = fresh_key();
    let (shared, same) = (Arc::clone(&state), key.clone());
    let paid = tokio::spawn(async move { Payments::pay(&*shared, same, CMD).await });
    assert!(!paid.await.expect("no panic").expect("fresh").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_that_keeps_its_signature_works_in_the_callers_transaction() {
    let shop = Shop::open(2).await;
    let state = Arc::new(State {
        pool: shop.pool.clone(),
    });
    let key = fresh_key();
    let (shared, same) = (Arc::clone(&state), key.clone());
    let paid = tokio::spawn(async move {
        let mut tx = shared.pool.begin().await?;
        let first = shared.pay_in(&mut tx, &same, &CMD).await?;
        let again = shared.pay_in(&mut tx, &same, &CMD).await?;
        tx.commit().await?;
        Ok::<_, PayError>((first, again))
    });
    let (first, again) = paid.await.expect("no panic").expect("it pays");
    assert_eq!(first, again);
    shop.assert_one_effect(&key).await;
}
