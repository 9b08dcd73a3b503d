use idem_ui_tests::*;

#[idempotent(namespace = "payments", lease = "5m")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
