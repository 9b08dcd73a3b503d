use idem_ui_tests::*;

#[idempotent(namespace = "payments", lease = "5m", record_request)]
async fn create(attempt: &Attempt, key: &IdempotencyKey, cmd: CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

fn main() {}
