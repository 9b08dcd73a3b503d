use idem_ui_tests::*;

trait Service {
    #[idempotent(namespace = "payments")]
    async fn create(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment>;
}

fn main() {}
