use idem_ui_tests::*;

#[derive(Deserialize, Serialize)]
struct PaymentV1 {
    number: i64,
}

fn upcast_payment(old: PaymentV1) -> Payment {
    Payment { id: old.number }
}

#[idempotent(namespace = "payments", result_version = 2, upcast(upcast_payment, upcast_payment))]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
