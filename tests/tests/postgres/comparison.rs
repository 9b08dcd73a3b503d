//! The values compared on a retry: `skip`, `fingerprint`, `record_request`, the operation.

use idem_runtime::error::Mismatch;
use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };
const OTHER: Pay = Pay { amount: 2 };

#[idempotent(namespace = "payments", record_request)]
async fn kept(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[idempotent(namespace = "payments", skip(trace))]
async fn traced(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    trace: u64,
) -> Result<Paid, PayError> {
    assert!(trace > 0);
    charge(tx, key, cmd).await
}

#[idempotent(namespace = "payments", fingerprint = off)]
async fn uncompared(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[idempotent(namespace = "payments", fingerprint = cmd.amount > 1)]
async fn projected(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[idempotent(namespace = "payments")]
async fn mutating(
    tx: &mut PgTransaction<'_>,
    mut key: IdempotencyKey,
    mut cmd: Pay,
) -> Result<Paid, PayError> {
    let paid = charge(tx, &key, &cmd).await?;
    cmd.amount += 1;
    key = fresh_key();
    let _ = (cmd, key);
    Ok(paid)
}

fn mismatch(refusal: Error) -> Mismatch {
    match refusal {
        Error::Mismatch(mismatch) => *mismatch,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn another_request_under_the_key_is_refused_and_the_record_stays() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    let found = mismatch(
        pay(&shop.pool, &key, &OTHER)
            .await
            .expect_err("it differs")
            .refusal(),
    );
    assert_eq!(found.recorded_request, None);
    assert_ne!(found.recorded_hash, found.submitted_hash);
    assert!(
        pay(&shop.pool, &key, &CMD)
            .await
            .expect("recorded")
            .replayed()
    );
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_key_used_on_another_operation_is_refused() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    let refusal = kept(&shop.pool, &key, &CMD)
        .await
        .expect_err("it is pay's")
        .refusal();
    assert_eq!(refusal.status(), 422);
    let found = mismatch(refusal);
    assert_eq!(
        (&*found.recorded_operation, &*found.submitted_operation),
        ("pay", "kept")
    );
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn record_request_keeps_the_request_for_the_mismatch() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    kept(&shop.pool, &key, &CMD).await.expect("fresh");
    let found = mismatch(
        kept(&shop.pool, &key, &OTHER)
            .await
            .expect_err("it differs")
            .refusal(),
    );
    let request = found.recorded_request.expect("it is kept");
    assert_eq!(request, br#"{"cmd":{"amount":1}}"#);
}

#[tokio::test]
async fn a_skipped_parameter_is_not_compared() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    traced(&shop.pool, &key, &CMD, 1).await.expect("fresh");
    assert!(
        traced(&shop.pool, &key, &CMD, 2)
            .await
            .expect("recorded")
            .replayed()
    );
    mismatch(
        traced(&shop.pool, &key, &OTHER, 1)
            .await
            .expect_err("it differs")
            .refusal(),
    );
}

#[tokio::test]
async fn fingerprint_off_compares_nothing_and_a_projection_only_itself() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    uncompared(&shop.pool, &key, &CMD).await.expect("fresh");
    assert!(
        uncompared(&shop.pool, &key, &OTHER)
            .await
            .expect("recorded")
            .replayed()
    );
    let key = fresh_key();
    projected(&shop.pool, &key, &OTHER).await.expect("fresh");
    let same = projected(&shop.pool, &key, &Pay { amount: 3 }).await;
    assert!(same.expect("recorded").replayed());
    mismatch(
        projected(&shop.pool, &key, &CMD)
            .await
            .expect_err("it differs")
            .refusal(),
    );
}

#[tokio::test]
async fn what_a_body_does_to_its_parameters_does_not_change_the_identity() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    assert!(
        !mutating(&shop.pool, key.clone(), CMD)
            .await
            .expect("fresh")
            .replayed()
    );
    assert!(
        mutating(&shop.pool, key.clone(), CMD)
            .await
            .expect("recorded")
            .replayed()
    );
    shop.assert_one_effect(&key).await;
}
