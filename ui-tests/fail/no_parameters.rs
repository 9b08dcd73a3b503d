use idem_ui_tests::*;

#[idempotent(namespace = "payments", key = "nightly".to_owned())]
async fn create() -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
