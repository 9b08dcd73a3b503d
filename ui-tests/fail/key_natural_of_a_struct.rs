use idem_ui_tests::*;

#[idempotent(namespace = "payments", key = natural(cmd))]
async fn create(_tx: &mut PgTransaction<'_>, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
