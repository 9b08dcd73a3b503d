use idem_ui_tests::*;

async fn refresh(_: &IdempotencyKey, _: &CreatePayment, payment: Result<Payment, PaymentError>) -> Result<Payment, PaymentError> {
    payment
}

#[idempotent(namespace = "payments", on_replay = refresh)]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
