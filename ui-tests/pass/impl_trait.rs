#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn arguments(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    name: impl AsRef<str> + Serialize + Send,
) -> ApiResult<String> {
    sqlx::query("SELECT 1").execute(&mut **tx).await?;
    Ok(name.as_ref().to_owned())
}

#[idempotent(namespace = "payments")]
async fn result(
    _tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
) -> Result<impl Serialize + for<'de> Deserialize<'de> + Send, PaymentError> {
    Ok(Payment { id: 1 })
}

async fn callers(pool: &PgPool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    assert_send(arguments(pool, key, "a")).await?;
    result(pool, key).await?;
    Ok(())
}

fn main() {}
