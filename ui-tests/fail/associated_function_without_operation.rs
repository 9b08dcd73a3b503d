use idem_ui_tests::*;

struct Orders(i64);

impl Orders {
    #[idempotent(namespace = "shop")]
    async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64> {
        Ok(Self(cents).0)
    }
}

fn main() {}
