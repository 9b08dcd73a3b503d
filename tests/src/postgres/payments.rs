//! The handlers and the business table of the tests on PostgreSQL.
//!
//! All handlers are the operation `pay`. Under one key they are duplicates of each other, whatever
//! else they do.

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgTransaction;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::gate::{self, GatePoint};

/// The business table.
pub const TABLE: &str =
    "CREATE TABLE payment (id bigserial PRIMARY KEY, key text NOT NULL, amount bigint NOT NULL)";

/// The request.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pay {
    /// In cents.
    pub amount: i64,
}

/// The result.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Paid {
    /// The id of the row in the business table.
    pub id: i64,
}

/// The errors of a handler.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] Error),
    /// An error of a statement in the body.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// A permanent failure.
    #[error("card declined")]
    Declined {
        /// The bank's code.
        code: u64,
    },
    /// A transient failure.
    #[error("the bank does not answer")]
    BankDown,
}

impl Failure for PayError {
    fn to_failure(&self) -> Option<StoredFailure> {
        match self {
            Self::Declined { code } => Some(
                StoredFailure::new("Declined", self.to_string())
                    .with_cause("limit reached")
                    .with_data(serde_json::json!({ "code": code })),
            ),
            _ => None,
        }
    }

    fn from_failure(failure: StoredFailure) -> Self {
        match failure.data["code"].as_u64() {
            Some(code) if failure.class == "Declined" => Self::Declined { code },
            _ => Self::Idempotency(Error::RecordedFailure(Box::new(failure))),
        }
    }
}

impl PayError {
    /// Returns the library's refusal.
    ///
    /// # Panics
    ///
    /// Panics if the error is the body's own.
    pub fn refusal(self) -> Error {
        match self {
            Self::Idempotency(error) => error,
            other => panic!("an error of the body, not of the library: {other:?}"),
        }
    }
}

/// Writes one payment. It stops at the gates of its key.
///
/// # Errors
///
/// Returns the database's errors.
pub async fn charge(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let id = sqlx::query_scalar("INSERT INTO payment (key, amount) VALUES ($1, $2) RETURNING id")
        .bind(key.as_str())
        .bind(cmd.amount)
        .fetch_one(&mut **tx)
        .await?;
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    Ok(Paid { id })
}

/// Pays.
///
/// # Errors
///
/// Returns the library's and the database's errors.
#[idempotent(namespace = "payments")]
pub async fn pay(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

/// Pays, and waits up to half a minute for a competing attempt.
///
/// # Errors
///
/// Returns the library's and the database's errors.
#[idempotent(
    namespace = "payments",
    operation = "pay",
    on_conflict = "wait",
    wait = "30s"
)]
pub async fn pay_patiently(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

/// Pays, then sends `sql` in the same transaction.
///
/// # Errors
///
/// Returns the library's and the database's errors.
#[idempotent(namespace = "payments", operation = "pay", skip(sql))]
pub async fn pay_then(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    Ok(paid)
}

/// Pays, then sends `sql` in the same transaction and ignores its result.
///
/// # Errors
///
/// Returns the library's and the database's errors.
#[idempotent(namespace = "payments", operation = "pay", skip(sql))]
pub async fn pay_whatever(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    let _ = tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
    Ok(paid)
}

/// Writes the payment and then fails, permanently or transiently. A permanent failure is recorded.
///
/// # Errors
///
/// Returns [`PayError::Declined`] with `code` if there is one, else [`PayError::BankDown`]; also
/// the library's and the database's errors.
#[idempotent(
    namespace = "payments",
    operation = "pay",
    failures = "record",
    skip(code)
)]
pub async fn fail_to_pay(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    code: Option<u64>,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    Err(code.map_or(PayError::BankDown, |code| PayError::Declined { code }))
}

/// Writes the payment and then fails transiently; nothing is recorded.
///
/// # Errors
///
/// Returns [`PayError::BankDown`], and the library's and the database's errors.
#[idempotent(namespace = "payments", operation = "pay")]
pub async fn pay_in_vain(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    Err(PayError::BankDown)
}
