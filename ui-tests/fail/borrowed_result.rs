use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create<'a>(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, name: &'a str) -> Result<&'a str, PaymentError> {
    Ok(name)
}

fn main() {}
