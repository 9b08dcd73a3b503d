use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(key: &IdempotencyKey, tx: &mut PgTransaction<'_>) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
