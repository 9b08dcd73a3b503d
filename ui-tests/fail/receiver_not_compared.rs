use idem_ui_tests::*;

struct Account {
    id: i64,
}

impl Account {
    #[idempotent(namespace = "bank", operation = "account.close")]
    async fn close(&self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.id)
    }
}

fn main() {}
