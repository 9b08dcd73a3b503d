use idem_ui_tests::*;

trait Ledger {
    async fn post(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64>;
}

struct Books;

impl Ledger for Books {
    #[idempotent(namespace = "ledger", signature = "keep")]
    async fn post(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64> {
        Ok(cents)
    }
}

fn main() {}
