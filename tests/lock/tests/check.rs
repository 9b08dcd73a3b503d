//! The test that a user writes. `idem.lock` beside this crate's manifest is its file.

#![allow(dead_code, reason = "nobody calls the handler")]

use idem_runtime::{Error, IdempotencyKey, idempotent};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::sqlite::SqliteTransaction;

#[derive(Serialize, JsonSchema)]
struct CreatePayment {
    account: i64,
    cents: u64,
    memo: Option<String>,
}

#[idempotent(namespace = "payments", retention = "24h")]
async fn create_payment(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Result<i64, Error> {
    let _ = tx;
    Ok(cmd.account)
}

#[test]
fn retries_survive_the_next_deploy() {
    idem_runtime::lock::check!();
}
