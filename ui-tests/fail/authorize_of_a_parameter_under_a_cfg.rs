use idem_ui_tests::*;

async fn may_see(_: &IdempotencyKey, _: &CreatePayment, _: Result<&Payment, &PaymentError>) -> Result<(), PaymentError> {
    Ok(())
}

#[idempotent(namespace = "payments", authorize = may_see)]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, #[cfg(all())] cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
