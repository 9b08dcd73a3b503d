#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn leaves_early(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, amount: i64) -> ApiResult<i64> {
    if amount == 0 {
        return Ok(0);
    }
    let Some(id) = sqlx::query_scalar::<_, i64>("SELECT 1").fetch_optional(&mut **tx).await? else {
        return Err(sqlx::Error::RowNotFound)?;
    };
    Ok(id)
}

#[idempotent(namespace = "payments")]
async fn never_succeeds(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
    Err(sqlx::Error::RowNotFound)?
}

#[idempotent(namespace = "payments")]
async fn panics(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
    unimplemented!()
}

#[idempotent(namespace = "payments")]
async fn coerces(
    _tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
) -> Result<Option<Box<str>>, Box<dyn std::error::Error + Send + Sync>> {
    let text = std::str::from_utf8(b"a")?;
    Ok(Some(text.into()))
}

#[idempotent(namespace = "payments")]
async fn has_items_and_inner_attributes(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
    #![allow(unused_variables)]
    struct Payment;
    const OPERATION: i64 = 7;
    let unused = Payment;
    Ok(OPERATION)
}

#[idempotent(namespace = "payments")]
async fn calls_another(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, amount: i64) -> ApiResult<i64> {
    let inner = leaves_early(&mut *tx, key, amount).await?;
    Ok(leaves_early(tx, key, *inner).await?.into_inner())
}

fn callers(pool: &PgPool, key: &IdempotencyKey) {
    drop(assert_send(leaves_early(pool, key, 1)));
    drop(assert_send(calls_another(pool, key, 1)));
}

fn main() {}
