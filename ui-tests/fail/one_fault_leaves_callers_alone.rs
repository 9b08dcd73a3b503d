use idem_ui_tests::*;

#[idempotent(namespace = "Payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    let id: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?;
    Ok(Payment { id: id + cmd.amount })
}

async fn caller(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<i64, PaymentError> {
    let payment = create(pool, key, cmd).await?;
    let mut tx = pool.begin().await?;
    let again = create(&mut tx, key, cmd).await?;
    Ok(if payment.replayed() { again.id } else { payment.id })
}

fn main() {}
