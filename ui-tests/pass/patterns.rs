#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

struct Json<T>(T);
struct Path<T>(T);

#[idempotent(namespace = "payments", skip(clock))]
async fn create(
    mut tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    Json(mut cmd): Json<CreatePayment>,
    Path((tenant, ref order)): Path<(u64, String)>,
    CreatePayment { amount, payee: to, .. }: CreatePayment,
    clock: Clock,
    _: Clock,
) -> ApiResult<i64> {
    tx = &mut *tx;
    sqlx::query("SELECT 1").bind(order).bind(to).execute(&mut **tx).await?;
    cmd.amount += amount;
    let _ = (clock, tenant);
    Ok(cmd.amount)
}

fn main() {}
