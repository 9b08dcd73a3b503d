use idem_ui_tests::*;

#[derive(Serialize)]
struct Receipt;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Receipt, PaymentError> {
    Ok(Receipt)
}

fn main() {}
