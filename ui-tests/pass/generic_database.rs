#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use idem_runtime::store::Backend;

#[idempotent(namespace = "payments")]
async fn create<DB: Backend>(tx: &mut Transaction<'_, DB>, key: &IdempotencyKey) -> ApiResult<i64> {
    let _: &mut DB::Connection = &mut **tx;
    Ok(1)
}

async fn callers(here: &PgPool, there: &SqlitePool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    create::<Postgres>(here, key).await?;
    create::<sqlx::Sqlite>(there, key).await?;
    Ok(())
}

fn main() {}
