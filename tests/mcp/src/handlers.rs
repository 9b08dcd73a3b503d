//! The handlers, on SQLite.

use idem_runtime::{Attempt, Failure, IdempotencyKey, StoredFailure, idempotent};
use idem_tests::gate::{self, GatePoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteTransaction;

/// The request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    pub(crate) item: String,
}

/// The result.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Placed {
    pub(crate) number: i64,
    pub(crate) item: String,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum OrderError {
    #[error("no {item} today")]
    #[failure(permanent)]
    SoldOut { item: String },
    #[error("the carrier does not answer")]
    CarrierSilent,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

async fn insert(tx: &mut SqliteTransaction<'_>, order: &Order) -> Result<Placed, OrderError> {
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

/// Called by two tools: one has the key as an argument, one does not.
#[idempotent(namespace = "orders", marker = PlaceOrder)]
pub(crate) async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let placed = insert(tx, order).await?;
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    Ok(placed)
}

/// One parcel for each item.
#[idempotent(namespace = "orders", key = natural(order.item), marker = ShipOrder)]
pub(crate) async fn ship_order(
    tx: &mut SqliteTransaction<'_>,
    order: &Order,
) -> Result<Placed, OrderError> {
    insert(tx, order).await
}

#[idempotent(namespace = "orders", key_required = false, marker = TakeNote)]
pub(crate) async fn take_note(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    order: &Order,
) -> Result<Placed, OrderError> {
    insert(tx, order).await
}

#[idempotent(namespace = "orders", failures = "record", marker = Decline)]
pub(crate) async fn decline(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    assert!(!key.as_str().is_empty());
    let Placed { item, .. } = insert(tx, order).await?;
    Err(OrderError::SoldOut { item })
}

#[idempotent(namespace = "orders", lease = "5m", marker = SendParcel)]
pub(crate) async fn send_parcel(
    attempt: &Attempt,
    key: IdempotencyKey,
    order: Order,
) -> Result<Placed, OrderError> {
    assert!(!key.as_str().is_empty() && !order.item.is_empty());
    attempt.outcome_unknown();
    Err(OrderError::CarrierSilent)
}
