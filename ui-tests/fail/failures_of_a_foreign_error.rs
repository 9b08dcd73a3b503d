use idem_ui_tests::*;

use std::error;

#[idempotent(namespace = "payments", failures = "record")]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, Box<dyn error::Error + Send + Sync>> {
    Ok(Payment { id: 1 })
}

fn main() {}
