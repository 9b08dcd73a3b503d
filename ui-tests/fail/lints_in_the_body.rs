#![deny(unused, unreachable_code)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    let mut unused = 1;
    sqlx::query("SELECT 1").execute(&mut **tx);
    return Ok(Payment { id: 1 });
    let _ = tx;
}

fn main() {}
