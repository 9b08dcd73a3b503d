use idem_ui_tests::*;

use axum::Json;
use axum::http::StatusCode;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<(StatusCode, Json<Payment>), PaymentError> {
    Ok((StatusCode::CREATED, Json(Payment { id: 1 })))
}

fn main() {}
