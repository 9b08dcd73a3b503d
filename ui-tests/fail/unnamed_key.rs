use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, _: &IdempotencyKey) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
