use idem_ui_tests::*;

struct Orders;

impl Orders {
    #[idempotent(namespace = "shop", skip(self))]
    async fn create(&self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64> {
        Ok(cents)
    }
}

fn main() {}
