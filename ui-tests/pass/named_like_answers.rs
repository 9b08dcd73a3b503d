//! Results that are named like axum's types, and are values.

#![deny(warnings)]

use idem_ui_tests::*;

/// A column of JSON, as `sqlx::types::Json` is.
#[derive(Serialize, Deserialize)]
pub struct Json<T>(pub T);

/// The body of an answer.
#[derive(Serialize, Deserialize)]
pub struct Response {
    /// Its number.
    pub id: i64,
}

#[idempotent(namespace = "payments")]
pub async fn named(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Response, PaymentError> {
    Ok(Response { id: 1 })
}

#[idempotent(namespace = "payments")]
pub async fn column(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<(i64, Json<Payment>), PaymentError> {
    Ok((1, Json(Payment { id: 1 })))
}

fn main() {}
