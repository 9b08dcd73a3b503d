use idem_ui_tests::*;

struct Account {
    id: i64,
}

impl Account {
    #[idempotent(namespace = "bank", operation = "account.debit", fingerprint = cents)]
    async fn debit(self: Box<Self>, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64> {
        Ok(self.id - cents)
    }
}

fn main() {}
