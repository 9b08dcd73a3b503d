use idem_ui_tests::*;

#[idempotent(namespace = "payments", skip(pool), allow(pools))]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, pool: &PgPool) -> ApiResult<Payment> {
    let _ = pool;
    Ok(Payment { id: 1 })
}

fn main() {}
