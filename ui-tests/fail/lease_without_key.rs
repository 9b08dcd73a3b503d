use idem_ui_tests::*;

#[idempotent(namespace = "payments", lease = "5m", key_required = false)]
async fn create(attempt: &Attempt, key: Option<IdempotencyKey>) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
