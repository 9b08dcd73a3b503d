use idem_ui_tests::*;

#[idempotent(namespace = "payments", codec = "PAYMENTS")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
