use idem_ui_tests::*;

use axum::response::{IntoResponse, Response};

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Response {
    "paid".into_response()
}

#[idempotent(namespace = "payments")]
async fn result(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Response, PaymentError> {
    Ok("paid".into_response())
}

fn main() {}
