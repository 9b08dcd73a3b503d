use idem_ui_tests::*;

use axum::response::IntoResponse;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<impl IntoResponse, PaymentError> {
    Ok("paid")
}

#[idempotent(namespace = "payments")]
async fn alone(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> impl IntoResponse {
    "paid"
}

fn main() {}
