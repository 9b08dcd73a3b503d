use idem_ui_tests::*;

struct Orders;

impl Orders {
    #[idempotent(namespace = "shop", operation = "order.create", skip(self), marker = CreateOrder)]
    async fn create(&self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(1)
    }
}

fn main() {}
