//! The handler. It knows no transport.

use idem_runtime::{IdempotencyKey, idempotent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteTransaction;

/// The request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatePayment {
    /// The account that is charged.
    pub account: i64,
    /// The amount.
    pub cents: i64,
}

/// The result.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The number of the payment.
    pub id: i64,
}

/// Why there is no payment.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// The library has refused the call.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// A statement of the body has failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Charges an account.
///
/// # Errors
/// Returns the library's refusals, and the errors of the statement.
#[idempotent(namespace = "payments", retention = "24h", marker = CreatePaymentOperation)]
pub async fn create_payment(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Result<Payment, PaymentError> {
    let insert =
        sqlx::query_scalar("INSERT INTO payment (account, cents) VALUES (?, ?) RETURNING id")
            .bind(cmd.account)
            .bind(cmd.cents);
    let id = insert.fetch_one(&mut **tx).await?;
    Ok(Payment { id })
}
