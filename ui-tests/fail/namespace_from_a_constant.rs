use idem_ui_tests::*;

const NAMESPACE: &str = "payments";

#[idempotent(namespace = NAMESPACE)]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
