#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use tracing::instrument;

#[instrument(skip(tx))]
#[idempotent(namespace = "payments")]
async fn above(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<i64> {
    sqlx::query("SELECT 1").execute(&mut **tx).await?;
    Ok(cmd.amount)
}

#[idempotent(namespace = "payments")]
#[instrument(skip(tx), fields(amount = cmd.amount), ret, err)]
async fn below(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<i64> {
    sqlx::query("SELECT 1").execute(&mut **tx).await?;
    Ok(cmd.amount)
}

#[instrument]
#[idempotent(namespace = "payments")]
async fn nothing_skipped_above(mut tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
    tx = &mut *tx;
    Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
}

#[idempotent(namespace = "payments")]
#[instrument]
async fn nothing_skipped_below(mut tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
    tx = &mut *tx;
    Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
}

#[idempotent(namespace = "payments")]
#[instrument]
async fn nameless(_: &mut PgTransaction<'_>, _key: &IdempotencyKey) -> ApiResult<i64> {
    Ok(1)
}

#[idempotent(namespace = "payments")]
#[instrument(skip(_tx))]
async fn unused(_tx: &mut SqliteTransaction<'_>, _key: &IdempotencyKey) -> ApiResult<i64> {
    Ok(1)
}

#[idempotent(namespace = "payments", lease = "5m")]
#[instrument(skip(attempt), err)]
async fn leased(attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<()> {
    attempt.heartbeat().await?;
    Ok(())
}

#[instrument(skip_all)]
#[idempotent(namespace = "payments", lease = "5m")]
async fn leased_above(attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<()> {
    attempt.heartbeat().await?;
    Ok(())
}

#[idempotent(namespace = "payments", lease = "5m")]
#[instrument]
async fn leased_nothing_skipped(attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<()> {
    attempt.heartbeat().await?;
    Ok(())
}

#[derive(Debug)]
struct Service;

impl Service {
    #[idempotent(namespace = "payments", operation = "service.method", skip(self))]
    #[instrument(skip(self, tx))]
    async fn method(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
    }

    #[instrument]
    #[idempotent(namespace = "payments", operation = "service.kept", signature = "keep", skip(self))]
    async fn kept(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
    }

    #[idempotent(namespace = "payments", operation = "service.kept_below", signature = "keep", skip(self))]
    #[instrument(skip(tx))]
    async fn kept_below(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(sqlx::query_scalar("SELECT 1").fetch_one(&mut **tx).await?)
    }
}

async fn callers(pool: &PgPool, lite: &SqlitePool, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<(), PaymentError> {
    assert_send(above(pool, key, cmd)).await?;
    assert_send(below(pool, key, cmd)).await?;
    assert_send(nothing_skipped_below(pool, key)).await?;
    assert_send(unused(lite, key)).await?;
    assert_send(leased(lite, key)).await?;
    let mut tx = pool.begin().await?;
    assert_send(nothing_skipped_above(&mut tx, key)).await?;
    assert_send(nameless(&mut *tx, key)).await?;
    Ok(())
}

fn main() {}
