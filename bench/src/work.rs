//! The work of the cases: a payment, plain and under the attribute.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use idem_runtime::{Attempt, Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgTransaction;
use sqlx::{PgConnection, PgPool};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// The namespace of every operation here.
pub(crate) const NAMESPACE: &str = "bench";

/// The request, about 150 bytes of JSON.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pay {
    pub(crate) account: i64,
    pub(crate) amount: i64,
    pub(crate) currency: &'static str,
    pub(crate) note: &'static str,
    pub(crate) declined: bool,
}

impl Pay {
    /// Returns the next request. Accounts alternate, so that tasks do not wait for each other's
    /// rows.
    pub(crate) fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self::of(i64::try_from(count % 10_000).unwrap_or_default())
    }

    /// Returns the request for an account, always the same.
    pub(crate) fn of(account: i64) -> Self {
        Self {
            account,
            amount: 1_250,
            currency: "EUR",
            note: "order 2026-0193, two of three parcels, as agreed by telephone",
            declined: false,
        }
    }
}

/// The result.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Paid {
    pub(crate) id: i64,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum PayError {
    #[error("declined for account {account}")]
    #[failure(permanent)]
    Declined { account: i64 },
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Returns a key in the order of time, as the documentation recommends: neighbours in the index are
/// neighbours in time.
pub(crate) fn fresh_key() -> IdempotencyKey {
    key(&Uuid::now_v7().to_string())
}

/// Returns a key without a scope.
pub(crate) fn key(text: &str) -> IdempotencyKey {
    match text.parse::<IdempotencyKey>() {
        Ok(key) => key.global(),
        Err(error) => unreachable!("{text} is a key: {error}"),
    }
}

/// Runs the work of one statement.
pub(crate) async fn one(conn: &mut PgConnection, cmd: &Pay) -> Result<Paid, sqlx::Error> {
    let id = sqlx::query_scalar(
        "INSERT INTO payment (account, amount, note) VALUES ($1, $2, $3) RETURNING id",
    )
    .bind(cmd.account)
    .bind(cmd.amount)
    .bind(cmd.note)
    .fetch_one(conn)
    .await?;
    Ok(Paid { id })
}

/// Runs the work of three statements.
pub(crate) async fn three(conn: &mut PgConnection, cmd: &Pay) -> Result<Paid, sqlx::Error> {
    let balance: i64 = sqlx::query_scalar("SELECT balance FROM account WHERE id = $1")
        .bind(cmd.account)
        .fetch_one(&mut *conn)
        .await?;
    let paid = one(conn, cmd).await?;
    sqlx::query("UPDATE account SET balance = $2 WHERE id = $1")
        .bind(cmd.account)
        .bind(balance - cmd.amount)
        .execute(conn)
        .await?;
    Ok(paid)
}

#[idempotent(namespace = "bench")]
pub(crate) async fn pay_one(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(one(tx, cmd).await?)
}

#[idempotent(namespace = "bench")]
pub(crate) async fn pay_three(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(three(tx, cmd).await?)
}

#[idempotent(namespace = "bench", record_request)]
pub(crate) async fn pay_keeping_request(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(one(tx, cmd).await?)
}

#[idempotent(namespace = "bench", failures = "record")]
pub(crate) async fn pay_or_fail(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    let paid = one(tx, cmd).await?;
    if cmd.declined {
        return Err(PayError::Declined {
            account: cmd.account,
        });
    }
    Ok(paid)
}

/// The semaphore that counts bodies at their gate, and the gate. Nothing opens the gate; the
/// process ends.
pub(crate) static HELD: LazyLock<(Semaphore, Semaphore)> =
    LazyLock::new(|| (Semaphore::new(0), Semaphore::new(0)));

/// Runs the operation of [`pay_one`], held in its body.
#[idempotent(namespace = "bench", operation = "pay_one")]
pub(crate) async fn pay_and_hold(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    let paid = one(tx, cmd).await?;
    HELD.0.add_permits(1);
    // The gate is closed when the run ends. The body then writes nothing.
    let _ = HELD.1.acquire().await;
    Ok(paid)
}

/// Runs the operation of [`pay_one`], and waits for an attempt in flight longer than a window lasts.
#[idempotent(
    namespace = "bench",
    operation = "pay_one",
    on_conflict = "wait",
    wait = "1m"
)]
pub(crate) async fn pay_patiently(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(one(tx, cmd).await?)
}

/// Pays in a separate transaction: the effect of a leased handler is outside its claim's transaction.
#[idempotent(namespace = "bench", lease = "5m", on_lapse = "retry", skip(effects))]
pub(crate) async fn pay_leased(
    attempt: &Attempt,
    key: &IdempotencyKey,
    cmd: Pay,
    effects: PgPool,
) -> Result<Paid, PayError> {
    let _ = (attempt, key);
    let mut tx = effects.begin().await?;
    let paid = one(&mut tx, &cmd).await?;
    tx.commit().await?;
    Ok(paid)
}
