//! Handlers that call handlers.

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::MySqlPool;
use sqlx::mysql::MySqlTransaction;

const CMD: Pay = Pay { amount: 1 };

/// Tries to pay under its own key in its own transaction, then pays.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_within_pay(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let refusal = pay(&mut *tx, key, cmd)
        .await
        .expect_err("it is nested")
        .refusal();
    assert!(matches!(refusal, Error::NestedSameKey), "{refusal:?}");
    charge(tx, key, cmd).await
}

/// Tries to pay under its own key on another connection, then pays.
#[idempotent(namespace = "payments", operation = "pay", skip(pool), allow(pool))]
async fn pay_beside_pay(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    pool: &MySqlPool,
) -> Result<Paid, PayError> {
    let refusal = pay(pool, key, cmd).await.expect_err("it runs").refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    charge(tx, key, cmd).await
}

/// Pays twice, under two keys.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_in_two_parts(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, Paid), PayError> {
    let (fee, price) = (child(key, "fee")?, child(key, "price")?);
    let fee = pay(&mut *tx, &fee, cmd).await?.into_inner();
    let price = pay(&mut *tx, &price, cmd).await?.into_inner();
    Ok((fee, price))
}

/// Pays under a child key, then fails.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_a_part_and_fail(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    pay(&mut *tx, &child(key, "fee")?, cmd).await?;
    Err(PayError::BankDown)
}

#[tokio::test]
async fn the_same_identity_nested_is_refused_and_the_outer_call_goes_on() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let paid = pay_within_pay(&shop.pool, &key, &CMD)
        .await
        .expect("it may go on");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let key = fresh_key();
    pay_within_pay(&mut tx, &key, &CMD)
        .await
        .expect("in the caller's too");
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn the_same_identity_on_another_connection_is_in_flight_and_does_not_hang() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let paid = pay_beside_pay(&shop.pool, &key, &CMD, &shop.pool).await;
    assert!(!paid.expect("it may go on").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn child_keys_are_recorded_with_their_parent_and_replayed_with_it() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let first = pay_in_two_parts(&shop.pool, &key, &CMD)
        .await
        .expect("two payments");
    let (fee, price) = (key.child("fee").unwrap(), key.child("price").unwrap());
    shop.assert_one_effect(&fee).await;
    shop.assert_one_effect(&price).await;
    let again = pay_in_two_parts(&shop.pool, &key, &CMD)
        .await
        .expect("it is recorded");
    assert!(again.replayed());
    assert_eq!(*first, *again);
    assert_eq!(shop.payments(&fee).await, 1);
}

#[tokio::test]
async fn a_child_of_a_call_that_fails_leaves_nothing() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let failed = pay_a_part_and_fail(&shop.pool, &key, &CMD).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    shop.assert_no_effect(&key).await;
    shop.assert_no_effect(&key.child("fee").unwrap()).await;
}

fn child(key: &IdempotencyKey, label: &str) -> Result<IdempotencyKey, Error> {
    key.child(label)
}
