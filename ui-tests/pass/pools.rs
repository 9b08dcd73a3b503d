#![deny(warnings)]

use idem_ui_tests::*;

use std::sync::Arc;

/// Writes a log on purpose, whatever becomes of the transaction.
#[idempotent(namespace = "payments", skip(log), allow(pool))]
pub async fn logged(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, log: &PgPool) -> ApiResult<Payment> {
    let _ = log;
    Ok(Payment { id: 1 })
}

/// Has no transaction, and needs a pool.
#[idempotent(namespace = "payments", lease = "5m", skip(pool, shared))]
pub async fn leased(_attempt: &Attempt, key: &IdempotencyKey, pool: PgPool, shared: Arc<PgPool>) -> ApiResult<Payment> {
    let _ = (pool, shared);
    Ok(Payment { id: 1 })
}

fn main() {}
