use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    let _ = tx;
    Ok(Payment { id: 1 })
}

fn main() {}
