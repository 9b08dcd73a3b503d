#![deny(deprecated)]

use idem_ui_tests::*;

use std::sync::Arc;

#[idempotent(namespace = "payments", skip(own, shared))]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, own: sqlx::Pool<Postgres>, shared: Arc<PgPool>) -> ApiResult<Payment> {
    let _ = (own, shared);
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments", fingerprint = cmd.amount)]
async fn projected(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment, pool: Option<SqlitePool>) -> ApiResult<Payment> {
    let _ = pool;
    Ok(Payment { id: cmd.amount })
}

fn main() {}
