use idem_ui_tests::*;

type Key = IdempotencyKey;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &Key) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
