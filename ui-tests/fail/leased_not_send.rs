use idem_ui_tests::*;

#[idempotent(namespace = "mail", lease = "5m")]
async fn send(attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<i64> {
    let count = std::rc::Rc::new(1);
    attempt.heartbeat().await?;
    Ok(*count)
}

fn main() {}
