#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

async fn outer(pool: &PgPool, key: &IdempotencyKey) -> ApiResult<i64> {
    #[idempotent(namespace = "payments")]
    async fn inner(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
    }
    Ok(*inner(pool, key).await?)
}

fn main() {}
