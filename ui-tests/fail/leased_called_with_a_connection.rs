use idem_ui_tests::*;

#[idempotent(namespace = "mail", lease = "5m")]
async fn send(attempt: &Attempt, key: &IdempotencyKey, to: String) -> ApiResult<Payment> {
    Ok(Payment { id: attempt.number().into() })
}

async fn caller(conn: &mut PgConnection, key: &IdempotencyKey) -> ApiResult<()> {
    send(conn, key, String::new()).await?;
    Ok(())
}

fn main() {}
