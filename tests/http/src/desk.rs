//! The idempotent handlers of the shop, which know no framework.

use std::mem;
use std::sync::Arc;

use idem_runtime::{
    Failure, IdempotencyKey, ReplayExt as _, Replayable, StoredFailure, idempotent,
};
use idem_tests::gate::{self, GatePoint};
use idem_tower::Detached;
use serde::{Deserialize, Serialize};
use sqlx::{SqlitePool, SqliteTransaction};
use tokio::sync::Notify;

/// The request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// What is ordered.
    pub item: String,
}

/// The result.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The number of the order.
    pub number: i64,
    /// What was ordered.
    pub item: String,
}

/// Why an order was not placed.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// A refusal of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// A fault of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Why an order was declined.
#[derive(Debug, thiserror::Error, Failure)]
pub enum DeclineError {
    /// For good.
    #[error("no {item} today")]
    #[failure(permanent)]
    SoldOut {
        /// What was ordered.
        item: String,
    },
    /// A fault of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// A refusal of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// A failure of another build.
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

async fn insert(tx: &mut SqliteTransaction<'_>, order: &Order) -> Result<Placed, sqlx::Error> {
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

/// Places an order.
///
/// # Errors
/// Those of the library and of the database.
#[idempotent(namespace = "orders", result_limit = "4MiB")]
pub async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let placed = insert(tx, order).await?;
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    Ok(placed)
}

/// Places an order, with or without a key.
///
/// # Errors
/// Those of the library and of the database.
#[idempotent(
    namespace = "orders",
    operation = "note",
    key_required = false,
    record_request
)]
pub async fn take_note(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    order: &Order,
) -> Result<Placed, OrderError> {
    Ok(insert(tx, order).await?)
}

/// Declines an order, for good.
#[idempotent(namespace = "orders", operation = "decline", failures = "record")]
async fn decline(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, DeclineError> {
    assert!(!key.as_str().is_empty());
    let Placed { item, .. } = insert(tx, order).await?;
    Err(DeclineError::SoldOut { item })
}

/// The same by a build that records no failures any more.
#[idempotent(namespace = "orders", operation = "decline")]
async fn decline_no_longer(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    assert!(!key.as_str().is_empty());
    Ok(insert(tx, order).await?)
}

/// What a web handler of the shop needs.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The database of orders and records.
    pub pool: SqlitePool,
    /// Runs orders to their end, if it is there.
    pub detached: Option<Detached>,
    /// Is told of each order that its server has dropped.
    pub left: Arc<Notify>,
}

/// Tells when a server has dropped a handler.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Desk {
    /// Places an order.
    ///
    /// # Errors
    /// Those of the handler.
    pub async fn order(
        &self,
        key: IdempotencyKey,
        order: Order,
    ) -> Result<Replayable<Placed>, OrderError> {
        let dropped = Dropped(Arc::clone(&self.left));
        let pool = self.pool.clone();
        let call = Box::pin(async move { place_order(&pool, &key, &order).await });
        let placed = match &self.detached {
            Some(detached) => detached.run(call).await,
            None => call.await,
        };
        mem::forget(dropped);
        placed
    }

    /// Places the order of one item of a request, under a child key of the request's.
    ///
    /// # Errors
    /// Those of the handler.
    pub async fn item(
        &self,
        key: &IdempotencyKey,
        order: Order,
    ) -> Result<Replayable<Placed>, OrderError> {
        self.order(key.child("item")?, order).await
    }

    /// Places an order, with or without a key.
    ///
    /// # Errors
    /// Those of the handler.
    pub async fn note(
        &self,
        key: Option<IdempotencyKey>,
        order: Order,
    ) -> Result<Replayable<Placed>, OrderError> {
        take_note(&self.pool, key, &order).await
    }

    /// Declines an order.
    ///
    /// # Errors
    /// Always.
    pub async fn decline(
        &self,
        key: IdempotencyKey,
        order: Order,
    ) -> Result<Replayable<Placed>, Replayable<DeclineError>> {
        decline(&self.pool, &key, &order).replayable().await
    }

    /// Declines an order no longer.
    ///
    /// # Errors
    /// Those of the handler.
    pub async fn decline_no_longer(
        &self,
        key: IdempotencyKey,
        order: Order,
    ) -> Result<Replayable<Placed>, OrderError> {
        decline_no_longer(&self.pool, &key, &order).await
    }
}
