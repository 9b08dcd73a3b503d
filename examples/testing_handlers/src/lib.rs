//! Handlers of a small shop, for the tests beside them: `docs/testing.md` shows those.

pub mod mail;
pub mod other_databases;
pub mod web;

use idem_runtime::{Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::SqliteTransaction;

/// A request. It is compared on a retry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlaceOrder {
    /// What is ordered.
    pub item: String,
}

/// An order. It is recorded, and replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Its number.
    pub number: i64,
}

/// The reasons why there is none.
#[derive(Debug, thiserror::Error, Failure)]
pub enum OrderError {
    /// It stays so: it is recorded.
    #[error("there is no {item}")]
    #[failure(permanent)]
    SoldOut {
        /// What was ordered.
        item: String,
    },
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// A failure that another build recorded.
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Places an order.
///
/// # Errors
/// As the error's variants say.
#[idempotent(
    namespace = "orders",
    failures = "record",
    expiry = "strict",
    marker = PlaceOrderOperation
)]
pub async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &PlaceOrder,
) -> Result<Placed, OrderError> {
    if order.item == "snow" {
        let item = order.item.clone();
        return Err(OrderError::SoldOut { item });
    }
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES ($1) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Placed { number })
}
