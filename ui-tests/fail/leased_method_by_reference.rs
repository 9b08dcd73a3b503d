use idem_ui_tests::*;

struct Mailer;

impl Mailer {
    #[idempotent(namespace = "mail", operation = "mailer.send", lease = "5m", skip(self))]
    async fn send(&self, attempt: &Attempt, key: &IdempotencyKey, to: String) -> ApiResult<usize> {
        Ok(to.len())
    }
}

fn main() {}
