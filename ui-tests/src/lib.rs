//! Tests of the attribute at compile time: the types that the cases in `fail` and `pass` share.
//!
//! Each file of `fail` shows one rule, beside the compiler's answer; each file of `pass` shows one
//! shape of handler. `TRYBUILD=overwrite cargo test -p idem-ui-tests` rewrites the answers. They
//! hold for the pinned toolchain without the component `rust-src`.

// Not compiled for the cases: an implementation of a trait here would appear in the compiler's
// hints.
#[cfg(any(clippy, test))]
pub mod lints;

pub use idem_runtime::{
    Attempt, Error, Failure, IdempotencyKey, Replayable, StoredFailure, idempotent,
};
pub use serde::{Deserialize, Serialize};
pub use sqlx::{
    PgConnection, PgPool, PgTransaction, Postgres, SqlitePool, SqliteTransaction, Transaction,
};

/// A result that can be recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Payment {
    /// Its number.
    pub id: i64,
}

/// A request.
#[derive(Debug, Clone, Serialize)]
pub struct CreatePayment {
    /// In cents.
    pub amount: i64,
    /// The recipient.
    pub payee: String,
    /// The payer.
    pub tenant: String,
    /// Sent by the client, once for each payment.
    pub request_id: String,
}

/// An error that can hold a refusal.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] Error),
}

/// A value that is not compared.
#[derive(Debug, Clone, Copy)]
pub struct Clock;

/// A result alias.
pub type ApiResult<T> = Result<T, PaymentError>;

/// Accepts only a future that axum or `tokio::spawn` would accept.
pub fn assert_send<F: Future + Send>(future: F) -> F {
    future
}
