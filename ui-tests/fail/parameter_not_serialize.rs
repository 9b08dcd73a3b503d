use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, clock: &Clock) -> ApiResult<Payment> {
    let _ = clock;
    Ok(Payment { id: 1 })
}

fn main() {}
