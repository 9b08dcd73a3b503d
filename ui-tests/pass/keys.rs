#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments", key = cmd.request_id)]
async fn in_band(_tx: &mut PgTransaction<'_>, cmd: &CreatePayment) -> ApiResult<()> {
    let _ = cmd;
    Ok(())
}

#[idempotent(namespace = "payments", key = natural(tenant, cmd.payee, "v1"), scope = tenant)]
async fn natural(_tx: &mut PgTransaction<'_>, tenant: &str, cmd: &CreatePayment) -> ApiResult<()> {
    let _ = (tenant, cmd);
    Ok(())
}

#[idempotent(namespace = "payments", key = token)]
async fn named(_tx: &mut PgTransaction<'_>, token: Option<String>) -> ApiResult<()> {
    drop(token);
    Ok(())
}

#[idempotent(namespace = "payments", key_required = false)]
async fn optional(_tx: &mut PgTransaction<'_>, key: Option<&IdempotencyKey>) -> ApiResult<()> {
    let _ = key;
    Ok(())
}

#[idempotent(namespace = "payments", key = mine, skip(theirs))]
async fn one_of_two(_tx: &mut PgTransaction<'_>, mine: IdempotencyKey, theirs: IdempotencyKey) -> ApiResult<()> {
    drop((mine, theirs));
    Ok(())
}

fn main() {}
