use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Payment> {
    let id = 1;
    Ok::<_, PaymentError>(Payment { id });
}

fn main() {}
