//! Lints on the user's own code. Each is expected at one statement of a body, and clippy reports it
//! if it does not fire exactly there.
#![allow(clippy::restriction, reason = "one fault a statement is enough")]

use crate::{ApiResult, CreatePayment, IdempotencyKey, PgTransaction, idempotent};

#[idempotent(namespace = "payments")]
async fn bodies(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> ApiResult<String> {
    #[expect(clippy::clone_on_copy, reason = "the lint under test")]
    let amount = cmd.amount.clone();
    #[expect(clippy::useless_conversion, reason = "the lint under test")]
    let amount = i64::from(amount);
    #[expect(clippy::needless_borrow, reason = "the lint under test")]
    let length = (&cmd.payee).len();
    #[expect(clippy::implicit_clone, reason = "the lint under test")]
    let payee = (&&cmd.payee).to_string();
    #[expect(clippy::let_unit_value, reason = "the lint under test")]
    let unit = drop(payee);
    #[expect(unused_variables, reason = "the lint under test")]
    let unused = (unit, amount, length);
    #[expect(unused_mut, reason = "the lint under test")]
    let mut never_changed = cmd.payee.as_str();
    sqlx::query("DELETE FROM payment WHERE payee = $1")
        .bind(never_changed)
        .execute(&mut **tx)
        .await?;
    Ok(cmd.payee.clone())
}

#[idempotent(namespace = "payments")]
async fn unreachable(
    _tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> ApiResult<i64> {
    return Ok(cmd.amount);
    #[expect(unreachable_code, reason = "the lint under test")]
    Ok(0)
}
