use idem_ui_tests::*;

#[idempotent(namespace = "payments", wait = "2s")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
