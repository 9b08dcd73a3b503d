use idem_ui_tests::*;

#[idempotent(namespace = "payments", lease = "5m", skip(pool), allow(pool))]
async fn send(attempt: &Attempt, key: &IdempotencyKey, pool: PgPool) -> ApiResult<Payment> {
    let _ = (attempt, pool);
    Ok(Payment { id: 1 })
}

fn main() {}
