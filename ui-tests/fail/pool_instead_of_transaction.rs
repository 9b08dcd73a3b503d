use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(pool: &PgPool, key: &IdempotencyKey) -> ApiResult<Payment> {
    let _ = pool;
    Ok(Payment { id: 1 })
}

fn main() {}
