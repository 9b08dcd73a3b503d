#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

/// Pays.
#[idempotent(namespace = "payments", retention = "24h")]
pub async fn create(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Result<Payment, PaymentError> {
    let id = sqlx::query_scalar("SELECT 1").bind(cmd.amount).fetch_one(&mut **tx).await?;
    Ok(Payment { id })
}

async fn callers(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<(), PaymentError> {
    let payment: Replayable<Payment> = assert_send(create(pool, key, cmd)).await?;
    let _: (bool, i64) = (payment.replayed(), payment.id);
    let mut connection = pool.acquire().await?;
    assert_send(create(&mut connection, key, cmd)).await?;
    assert_send(create(&mut *connection, key, cmd)).await?;
    let mut tx = pool.begin().await?;
    assert_send(create(&mut tx, key, cmd)).await?;
    create(&mut tx, key, cmd).await?;
    tx.commit().await?;
    Ok(())
}

fn main() {}
