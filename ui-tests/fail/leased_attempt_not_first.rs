use idem_ui_tests::*;

#[idempotent(namespace = "payments", lease = "5m")]
async fn create(key: &IdempotencyKey, attempt: &Attempt) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
