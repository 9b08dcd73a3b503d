//! The sample business of the tests: payments, and one handler that makes them.

use std::fmt::Debug;

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent, schema};
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::sqlite::{SqlitePool, SqliteTransaction};
use tokio::sync::Notify;

pub(crate) const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Rollback];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Paid {
    pub(crate) id: i64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("declined with code {0}")]
    Declined(u64),
    #[error("the bank is out of reach")]
    OutOfReach,
    #[error("{}", .0.message)]
    Recorded(StoredFailure),
}

impl PayError {
    /// Returns the library's refusal; panics for any other error.
    pub(crate) fn refusal(self) -> Error {
        match self {
            Self::Idempotency(error) => error,
            other => panic!("not a refusal of the library: {other:?}"),
        }
    }
}

impl Failure for PayError {
    fn to_failure(&self) -> Option<StoredFailure> {
        match self {
            Self::Declined(code) => Some(
                StoredFailure::new("Declined", self.to_string()).with_data(json!({"code": code})),
            ),
            Self::Recorded(failure) => Some(failure.clone()),
            Self::Idempotency(_) | Self::Database(_) | Self::OutOfReach => None,
        }
    }

    fn from_failure(failure: StoredFailure) -> Self {
        match (failure.class.as_str(), failure.data["code"].as_u64()) {
            ("Declined", Some(code)) => Self::Declined(code),
            _ => Self::Recorded(failure),
        }
    }
}

/// Returns the refusal of a call, which must be refused.
pub(crate) fn refused<T: Debug>(result: Result<T, PayError>) -> Error {
    result.expect_err("the call is refused").refusal()
}

/// Creates a key of this text in the global scope.
pub(crate) fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().expect("a good key").global()
}

/// Pays in the given transaction.
pub(crate) async fn insert(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, sqlx::Error> {
    let id = sqlx::query_scalar("INSERT INTO payment (key, cents) VALUES (?1, ?2) RETURNING id")
        .bind(key.as_str())
        .bind(cents)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Paid { id })
}

/// Pays.
#[idempotent(namespace = "payments")]
pub(crate) async fn pay(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

/// Pays, and then runs `then` in the same body. It is the same operation as [`pay`].
#[idempotent(namespace = "payments", operation = "pay", skip(then))]
pub(crate) async fn pay_and(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
    then: impl AsyncFnOnce(&mut SqliteTransaction<'_>) -> Result<(), PayError>,
) -> Result<Paid, PayError> {
    let paid = insert(tx, key, cents).await?;
    then(tx).await?;
    Ok(paid)
}

/// Holds a body at one point until the test lets it continue.
#[derive(Default)]
pub(crate) struct Gate {
    reached: Notify,
    open: Notify,
}

impl Gate {
    /// Called by the body: reports that it has arrived, and waits.
    pub(crate) async fn pass(&self) {
        self.reached.notify_one();
        self.open.notified().await;
    }

    /// Called by the test: waits until the body has arrived.
    pub(crate) async fn reached(&self) {
        in_time("no body came to the gate", self.reached.notified()).await;
    }

    /// Called by the test: lets the body continue.
    pub(crate) fn open(&self) {
        self.open.notify_one();
    }
}

/// A database with the tables of the business and of the library, and a pool.
pub(crate) struct Books {
    pub(crate) db: Sqlite,
    pub(crate) pool: SqlitePool,
}

impl Books {
    pub(crate) async fn open(journal: Journal, connections: u32) -> Self {
        let db = Sqlite::fresh(journal);
        let pool = db.pool(connections);
        create_tables(&pool).await;
        Self { db, pool }
    }

    /// Returns the number of payments and of records of a key, at one moment.
    pub(crate) async fn count(&self, key: &IdempotencyKey) -> (i64, i64) {
        count(&self.pool, key).await
    }

    pub(crate) async fn execute(&self, statement: &'static str) {
        sqlx::raw_sql(statement)
            .execute(&self.pool)
            .await
            .expect(statement);
    }
}

pub(crate) async fn create_tables(pool: &SqlitePool) {
    let mut conn = pool.acquire().await.expect("a connection");
    schema::create_if_missing(&mut conn)
        .await
        .expect("the library's table");
    sqlx::raw_sql("CREATE TABLE payment (id INTEGER PRIMARY KEY, key TEXT, cents INTEGER)")
        .execute(&mut *conn)
        .await
        .expect("the business's table");
}

/// Returns the same as [`Books::count`], for a database without books.
pub(crate) async fn count(pool: &SqlitePool, key: &IdempotencyKey) -> (i64, i64) {
    sqlx::query_as(
        "SELECT (SELECT count(*) FROM payment WHERE key = ?1), \
                (SELECT count(*) FROM idem_record WHERE key = ?1)",
    )
    .bind(key.as_str())
    .fetch_one(pool)
    .await
    .expect("the tables can be read")
}
