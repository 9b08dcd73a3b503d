#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

#[expect(unused_variables, unused_mut)]
#[idempotent(namespace = "payments")]
async fn above(mut tx: &mut PgTransaction<'_>, key: &IdempotencyKey, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) -> ApiResult<()> {
    let unused = (a, b, c, d, e, f);
    Ok(())
}

#[idempotent(namespace = "payments")]
#[expect(unused_variables, unused_mut, unreachable_code)]
async fn below(mut tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    return Ok(());
    Ok(())
}

#[idempotent(namespace = "payments")]
async fn on_the_parameter(#[expect(unused_variables)] tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    Ok(())
}

#[deprecated]
#[must_use]
#[idempotent(namespace = "payments", lease = "5m")]
#[expect(unused_variables)]
async fn leased(attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<()> {
    Ok(())
}

#[idempotent(namespace = "payments")]
#[expect(unused_must_use)]
async fn in_the_body(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    sqlx::query("SELECT 1").execute(&mut **tx);
    Ok(())
}

fn main() {}
