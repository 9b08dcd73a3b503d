use idem_ui_tests::*;

#[idempotent(namespace = "payments", failures = "record")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, PaymentError> {
    Ok(Payment { id: 1 })
}

fn main() {}
