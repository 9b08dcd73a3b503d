use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    let _ = tx;
    Ok(Payment { id: cmd.amount })
}

async fn caller(pool: &SqlitePool, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<i64> {
    Ok(create(pool, key, cmd).await?.id)
}

fn main() {}
