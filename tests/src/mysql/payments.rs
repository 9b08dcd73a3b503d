//! The handlers and the business table of the tests on MySQL.
//!
//! All handlers are the operation `pay`. Under one key they are duplicates of each other, whatever
//! else they do.

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::mysql::MySqlTransaction;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::gate::{self, GatePoint};

/// The business table.
pub const TABLE: &str = "CREATE TABLE payment (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `key` varbinary(1020) NOT NULL, \
     amount bigint NOT NULL) ENGINE = InnoDB";

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
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let id = insert(tx, key.as_str(), cmd.amount).await?;
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    Ok(Paid { id })
}

/// Writes one payment and nothing else. Sends it as text, because sqlx 0.9 loses its position in
/// the protocol if it is dropped while it prepares a statement.
///
/// # Errors
///
/// Returns the database's errors.
///
/// # Panics
///
/// Never: the number of rows fits.
pub async fn insert(
    tx: &mut MySqlTransaction<'_>,
    key: &str,
    amount: i64,
) -> Result<i64, sqlx::Error> {
    let key = key
        .bytes()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let text = format!("INSERT INTO payment (`key`, amount) VALUES (x'{key}', {amount})");
    let done = tx.execute(sqlx::raw_sql(AssertSqlSafe(text))).await?;
    Ok(i64::try_from(done.last_insert_id()).expect("a row's number"))
}

/// Pays.
///
/// # Errors
///
/// Returns the library's and the database's errors.
#[idempotent(namespace = "payments")]
pub async fn pay(
    tx: &mut MySqlTransaction<'_>,
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
    tx: &mut MySqlTransaction<'_>,
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
    tx: &mut MySqlTransaction<'_>,
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
    tx: &mut MySqlTransaction<'_>,
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
    tx: &mut MySqlTransaction<'_>,
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
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    Err(PayError::BankDown)
}
