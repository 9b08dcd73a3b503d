use idem_ui_tests::*;

#[idempotent(namespace = "payments", allow(pool))]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
