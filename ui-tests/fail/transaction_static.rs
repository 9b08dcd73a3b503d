use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut Transaction<'static, Postgres>, key: &IdempotencyKey) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
