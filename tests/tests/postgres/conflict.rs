//! A duplicate of a call that is still running.

use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{
    Paid, Pay, PayError, charge, pay, pay_in_vain, pay_patiently,
};
use idem_tests::postgres::{Observer, Shop, fresh_key};
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };

/// Waits until the pool has `count` sessions. The last one belongs to a call that has found its key
/// taken, or is about to.
async fn sessions(observer: &mut Observer, count: i64) {
    let condition = format!(
        "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND backend_type = 'client backend' AND pid <> pg_backend_pid()) >= {count}"
    );
    observer.until(&condition).await;
}

#[tokio::test]
async fn a_duplicate_of_a_running_call_is_refused_at_once_and_replays_afterwards() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        let refusal = pay(&shop.pool, &key, &CMD)
            .await
            .expect_err("it runs")
            .refusal();
        assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
        assert_eq!(refusal.retry_after(), Some(Duration::from_secs(1)));
        assert_eq!(refusal.status(), 409);
        gate.open();
    };
    let (first, ()) = tokio::join!(pay(&shop.pool, &key, &CMD), duplicate);
    let first = first.expect("it had the key");
    drop(gate);
    let again = pay(&shop.pool, &key, &CMD).await.expect("it is recorded");
    assert!(!first.replayed() && again.replayed());
    assert_eq!(*first, *again);
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn another_key_does_not_wait_for_a_running_call() {
    let shop = Shop::open(2).await;
    let (key, other) = (fresh_key(), fresh_key());
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let work = async {
        gate.entered().await;
        assert!(
            !pay(&shop.pool, &other, &CMD)
                .await
                .expect("fresh")
                .replayed()
        );
        gate.open();
    };
    let (paid, ()) = tokio::join!(pay(&shop.pool, &key, &CMD), work);
    paid.expect("fresh");
}

#[tokio::test]
async fn a_waiter_replays_what_the_winner_commits() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        pay_patiently(&shop.pool, &key, &CMD).await
    };
    let release = async {
        sessions(&mut shop.observer().await, 2).await;
        gate.open();
    };
    let (first, waited, ()) = tokio::join!(pay(&shop.pool, &key, &CMD), duplicate, release);
    let (first, waited) = (first.expect("fresh"), waited.expect("recorded by then"));
    assert!(!first.replayed() && waited.replayed());
    assert_eq!(*first, *waited);
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_waiter_runs_if_the_winner_rolls_back() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        pay_patiently(&shop.pool, &key, &CMD).await
    };
    let release = async {
        sessions(&mut shop.observer().await, 2).await;
        gate.open();
        // The waiter's own body reaches the gate as well.
        gate.entered().await;
        gate.open();
    };
    let (failed, waited, ()) =
        tokio::join!(pay_in_vain(&shop.pool, &key, &CMD), duplicate, release);
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    assert!(!waited.expect("the key is fresh").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_waiter_holds_no_pooled_connection() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        pay_patiently(&shop.pool, &key, &CMD).await
    };
    let other_work = async {
        sessions(&mut shop.observer().await, 2).await;
        // The winner holds one of the two connections; the other can be acquired and held.
        let connection = shop
            .pool
            .acquire()
            .await
            .expect("the waiter does not sit on it");
        assert_eq!((shop.pool.size(), shop.pool.num_idle()), (2, 0));
        gate.open();
        connection
    };
    let (first, waited, connection) =
        tokio::join!(pay(&shop.pool, &key, &CMD), duplicate, other_work);
    assert!(!first.expect("fresh").replayed());
    assert!(waited.expect("by the winner's connection").replayed());
    drop(connection);
    shop.assert_one_effect(&key).await;
}

#[idempotent(
    namespace = "payments",
    operation = "pay",
    on_conflict = "wait",
    wait = "1s"
)]
async fn pay_hastily(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[tokio::test]
async fn a_waiter_is_told_in_flight_at_its_deadline() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        let refusal = pay_hastily(&shop.pool, &key, &CMD)
            .await
            .expect_err("it runs")
            .refusal();
        assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
        gate.open();
    };
    let (first, ()) = tokio::join!(pay(&shop.pool, &key, &CMD), duplicate);
    assert!(!first.expect("fresh").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_waiter_in_the_callers_transaction_replays_and_leaves_its_settings_alone() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        let mut tx = shop.pool.begin().await.expect("a transaction");
        let waited = pay_patiently(&mut tx, &key, &CMD).await;
        let timeout: String = sqlx::query_scalar("SHOW lock_timeout")
            .fetch_one(&mut *tx)
            .await
            .expect("the transaction is in order");
        tx.commit().await.expect("nothing is wrong with it");
        (waited, timeout)
    };
    let release = async {
        sessions(&mut shop.observer().await, 2).await;
        gate.open();
    };
    let (first, (waited, timeout), ()) =
        tokio::join!(pay(&shop.pool, &key, &CMD), duplicate, release);
    assert!(!first.expect("fresh").replayed());
    assert!(waited.expect("recorded by then").replayed());
    assert_eq!(timeout, "0");
    shop.assert_one_effect(&key).await;
}
