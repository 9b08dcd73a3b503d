use idem_ui_tests::*;

use axum::Json;
use axum::extract::State;

#[idempotent(namespace = "payments")]
async fn post_payment(State(pool): State<PgPool>, key: IdempotencyKey, Json(cmd): Json<CreatePayment>) -> Result<Json<Payment>, PaymentError> {
    let _ = (pool, key);
    Ok(Json(Payment { id: cmd.amount }))
}

fn main() {}
