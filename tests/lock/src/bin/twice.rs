//! A service whose two handlers have one operation.

#![allow(dead_code, reason = "nobody calls the handlers")]

use std::process::ExitCode;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use sqlx::sqlite::SqliteTransaction;

#[idempotent(namespace = "shop", operation = "create")]
async fn order(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
    let _ = tx;
    Ok(())
}

#[idempotent(namespace = "shop", operation = "create")]
async fn invoice(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
    let _ = tx;
    Ok(())
}

fn main() -> ExitCode {
    idem_tests_lock::compare()
}
