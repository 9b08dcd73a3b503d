use idem_ui_tests::*;

struct Mailer;

impl Mailer {
    #[idempotent(namespace = "mail", lease = "5m", skip(self))]
    async fn send(self: std::sync::Arc<Self>, attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<()> {
        attempt.heartbeat().await?;
        Ok(())
    }
}

fn main() {}
