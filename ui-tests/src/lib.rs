//! Tests of the attribute at compile time: what the cases in `fail` and `pass` share.
//!
//! `fail` holds one rule a file beside the compiler's answer, `pass` one shape of handler a file.
//! `TRYBUILD=overwrite cargo test -p idem-ui-tests` writes the answers anew; the pinned toolchain
//! without the component `rust-src` is what they hold for.

// Nothing for the cases: what implements a trait there would turn up in the compiler's hints.
#[cfg(any(clippy, test))]
pub mod lints;

pub use idem_runtime::{Error, Failure, IdempotencyKey, Replayable, StoredFailure, idempotent};
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
    /// Who gets it.
    pub payee: String,
    /// Who pays.
    pub tenant: String,
    /// Sent by the client, once for each payment.
    pub request_id: String,
}

/// An error that carries refusals.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// The database's.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The library's.
    #[error(transparent)]
    Idempotency(#[from] Error),
}

/// Something that is not compared.
#[derive(Debug, Clone, Copy)]
pub struct Clock;

/// A result under another name.
pub type ApiResult<T> = Result<T, PaymentError>;

/// Accepts what a handler under axum or `tokio::spawn` must be.
pub fn assert_send<F: Future + Send>(future: F) -> F {
    future
}
