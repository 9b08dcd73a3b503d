use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    let payee = cmd.payee.clone();
    payee
}

fn main() {}
