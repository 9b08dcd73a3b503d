//! The handlers and the business table of the tests on MySQL.
//!
//! All handlers are one operation, `pay`: under one key they are each other's duplicates, whatever
//! else they do.

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::mysql::MySqlTransaction;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::gate::{self, Place};

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
    /// The row in the business table.
    pub id: i64,
}

/// What a handler answers when it does not pay.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    /// The library's.
    #[error(transparent)]
    Idempotency(#[from] Error),
    /// A statement of the body's.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// For good.
    #[error("card declined")]
    Declined {
        /// The bank's code.
        code: u64,
    },
    /// For now.
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
    /// The library's refusal.
    ///
    /// # Panics
    ///
    /// It is the body's own error.
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
/// The database's.
pub async fn charge(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    gate::pass(key.as_str(), Place::BeforeWrite).await;
    let id = insert(tx, key.as_str(), cmd.amount).await?;
    gate::pass(key.as_str(), Place::AfterWrite).await;
    Ok(Paid { id })
}

/// Writes one payment and nothing else. As text: sqlx 0.9 loses its place where it is dropped while
/// it prepares a statement.
///
/// # Errors
///
/// The database's.
///
/// # Panics
///
/// Never: rows are not that many.
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
/// The library's and the database's.
#[idempotent(namespace = "payments")]
pub async fn pay(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

/// Pays, and waits for a rival up to half a minute.
///
/// # Errors
///
/// The library's and the database's.
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

/// Pays, then sends `sql` by the same transaction.
///
/// # Errors
///
/// The library's and the database's.
#[idempotent(namespace = "payments", operation = "pay", skip(sql))]
pub async fn pay_then(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    gate::pass(key.as_str(), Place::Last).await;
    Ok(paid)
}

/// Pays, then sends `sql` by the same transaction and does not look at what comes of it.
///
/// # Errors
///
/// The library's and the database's.
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

/// Writes the payment and then fails, for good or for now. A failure for good is recorded.
///
/// # Errors
///
/// [`PayError::Declined`] with `code` if there is one, else [`PayError::BankDown`]; the library's
/// and the database's.
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

/// Writes the payment and then fails for now; nothing is recorded.
///
/// # Errors
///
/// [`PayError::BankDown`], the library's and the database's.
#[idempotent(namespace = "payments", operation = "pay")]
pub async fn pay_in_vain(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    gate::pass(key.as_str(), Place::Last).await;
    Err(PayError::BankDown)
}
