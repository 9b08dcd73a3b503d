use idem_ui_tests::*;

use axum::Json;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Json<Payment>, PaymentError> {
    Ok(Json(Payment { id: 1 }))
}

#[idempotent(namespace = "payments")]
async fn alone(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Json<Payment> {
    Json(Payment { id: 1 })
}

fn main() {}
