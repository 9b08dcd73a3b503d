#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

type Result<T, E = PaymentError> = std::result::Result<T, E>;
type Outcome = std::result::Result<Payment, PaymentError>;

#[idempotent(namespace = "payments")]
async fn of_the_same_name(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment> {
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments")]
async fn with_a_parameter(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments")]
async fn without_parameters(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Outcome {
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments")]
async fn by_its_path(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ::std::result::Result<(), PaymentError> {
    Ok(())
}

async fn callers(pool: &PgPool, key: &IdempotencyKey) -> Result<i64> {
    let a = assert_send(of_the_same_name(pool, key)).await?.id;
    let b = assert_send(with_a_parameter(pool, key)).await?.id;
    let c = assert_send(without_parameters(pool, key)).await?.id;
    by_its_path(pool, key).await?;
    Ok(a + b + c)
}

fn main() {}
