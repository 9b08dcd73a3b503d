//! `?` on what makes keys and scopes, in handlers whose error is `From<idem_runtime::Error>` and no more.

#![deny(warnings)]

use idem_ui_tests::*;

use idem_runtime::{Namespace, Scope};

#[idempotent(namespace = "payments")]
pub async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, header: &str) -> ApiResult<Payment> {
    let _child = key.child("receipt")?;
    let _parsed = header.parse::<IdempotencyKey>()?.scoped(Scope::new("acme")?);
    let _optional = IdempotencyKey::parse(Some(header))?;
    let _natural = IdempotencyKey::derive(["acme", "order-7"])?;
    let _namespace = Namespace::new("payments")?;
    Ok(Payment { id: 1 })
}

#[idempotent(namespace = "payments", key = IdempotencyKey::derive(["order", order]), scope = Scope::new(tenant))]
pub async fn derived(_tx: &mut PgTransaction<'_>, tenant: &str, order: &str) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
