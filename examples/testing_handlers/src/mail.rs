//! A mail to the customer: an effect outside the database, under a lease.

use std::sync::Arc;

use idem_runtime::{Attempt, IdempotencyKey, idempotent};
use sqlx::SqlitePool;

use crate::OrderError;

/// Sends mail.
pub trait Mailer: Send + Sync + 'static {
    /// Sends one mail.
    fn send(&self, receiver: &str) -> impl Future<Output = ()> + Send;
}

/// Sends the receipt of an order. Returns the number of the attempt.
///
/// # Errors
/// An error of the database or of the library.
#[idempotent(
    namespace = "mail",
    lease = "5m",
    on_lapse = "retry",
    skip(mailer, outbox, M),
    marker = SendReceipt
)]
pub async fn send_receipt<M: Mailer>(
    attempt: &Attempt,
    key: &IdempotencyKey,
    mailer: Arc<M>,
    outbox: SqlitePool,
    receiver: String,
) -> Result<i32, OrderError> {
    mailer.send(&receiver).await;
    sqlx::query("INSERT INTO mail (receiver) VALUES ($1)")
        .bind(&receiver)
        .execute(&outbox)
        .await?;
    Ok(attempt.number())
}
