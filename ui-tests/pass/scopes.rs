//! Everything that a key can be made of makes a scope, but for an `Option`.

#![deny(warnings)]

use idem_ui_tests::*;

use idem_runtime::Scope;
use uuid::Uuid;

#[idempotent(namespace = "payments", scope = tenant, skip(tenant))]
pub async fn uuid(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, tenant: Uuid) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments", scope = *tenant)]
pub async fn number(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, tenant: &i64) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments", key = order, scope = Scope::GLOBAL)]
pub async fn numbered(_tx: &mut PgTransaction<'_>, order: u32) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
