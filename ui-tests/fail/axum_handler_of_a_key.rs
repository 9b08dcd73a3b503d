use idem_ui_tests::*;

use axum::Json;
use axum::response::IntoResponse;

#[idempotent(namespace = "payments")]
async fn post_payment(key: IdempotencyKey, Json(cmd): Json<CreatePayment>) -> impl IntoResponse {
    let _ = key;
    Json(Payment { id: cmd.amount })
}

fn main() {}
