use idem_ui_tests::*;

#[idempotent(namespace = "payments", key = cmd.amount > 0)]
async fn create(tx: &mut PgTransaction<'_>, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
