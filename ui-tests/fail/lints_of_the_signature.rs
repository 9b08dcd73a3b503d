#![deny(unused)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments", skip(clock))]
async fn create(mut tx: &mut PgTransaction<'_>, key: &IdempotencyKey, clock: Clock) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
