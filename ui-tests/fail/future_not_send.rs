use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    let shared = std::rc::Rc::new(1);
    let id = sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?;
    drop(shared);
    Ok(Payment { id })
}

fn send(pool: &PgPool, key: &IdempotencyKey) {
    assert_send(create(pool, key));
}

fn main() {}
