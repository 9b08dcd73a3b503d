use idem_ui_tests::*;

#[derive(Deserialize)]
struct PaymentV1 {
    number: i64,
}

fn upcast_payment(old: PaymentV1) -> Payment {
    Payment { id: old.number }
}

fn downcast_payment(payment: &Payment) -> PaymentV1 {
    PaymentV1 { number: payment.id }
}

#[idempotent(namespace = "payments", result_version = 2, upcast = upcast_payment, write_version = 1, downcast = downcast_payment)]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
