use idem_ui_tests::{ApiResult, IdempotencyKey, idempotent};

struct Attempt;

#[idempotent(namespace = "mail", lease = "5m")]
async fn send(attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<i64> {
    Ok(1)
}

fn main() {}
