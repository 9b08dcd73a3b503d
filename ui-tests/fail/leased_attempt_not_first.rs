use idem_ui_tests::*;

struct Attempt;

#[idempotent(namespace = "payments", lease = "5m")]
async fn create(key: &IdempotencyKey, attempt: &Attempt) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
