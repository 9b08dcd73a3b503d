#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use std::borrow::Cow;

type Tx<'c> = PgTransaction<'c>;

#[idempotent(namespace = "payments")]
async fn named<'a, 'b>(mut tx: &'a mut Tx<'_>, key: &'b IdempotencyKey, name: &'b str) -> ApiResult<Cow<'b, str>> {
    sqlx::query("SELECT 1").execute(&mut **tx).await?;
    tx = &mut *tx;
    let _ = tx;
    Ok(Cow::Borrowed(name))
}

#[idempotent(namespace = "payments")]
async fn of_the_transaction<'t>(tx: &mut Transaction<'t, Postgres>, key: &IdempotencyKey) -> ApiResult<i64> {
    Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
}

async fn callers(pool: &PgPool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    assert_send(named(pool, key, "a")).await?;
    assert_send(of_the_transaction(pool, key)).await?;
    Ok(())
}

fn main() {}
