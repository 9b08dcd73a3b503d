//! A handler whose body is one INSERT, and the same transaction without the library.

use std::sync::LazyLock;

use idem_runtime::{IdempotencyKey, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::{PgPool, PgTransaction};

use crate::order::Order;

#[derive(Serialize, Deserialize)]
pub(crate) struct Receipt {
    number: i64,
    customer: i64,
    status: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

/// The codec of the handler, if it encrypts.
#[cfg(feature = "encrypt")]
pub(crate) static SHOP: idem_runtime::codec::Codec = idem_runtime::codec::Codec::new("SHOP");

/// How many letters a result has beside its fields, for figures by size.
static PADDING: LazyLock<usize> = LazyLock::new(|| {
    let padding = std::env::var("IDEM_COST_RESULT").ok();
    padding
        .and_then(|padding| padding.parse().ok())
        .unwrap_or(0)
});

pub(crate) async fn create(pool: &PgPool) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(
        "CREATE TABLE placed (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer bigint NOT NULL)",
    )
    .execute(pool)
    .await?;
    Ok(())
}

#[cfg_attr(feature = "encrypt", idempotent(namespace = "shop", codec = SHOP))]
#[cfg_attr(not(feature = "encrypt"), idempotent(namespace = "shop"))]
pub(crate) async fn place_order(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Receipt, OrderError> {
    Ok(insert_order(tx, order).await?)
}

pub(crate) async fn place_order_by_hand(
    pool: &PgPool,
    order: &Order,
) -> Result<Receipt, sqlx::Error> {
    let mut tx = pool.begin().await?;
    let receipt = insert_order(&mut tx, order).await?;
    tx.commit().await?;
    Ok(receipt)
}

async fn insert_order(tx: &mut PgTransaction<'_>, order: &Order) -> Result<Receipt, sqlx::Error> {
    let number = sqlx::query_scalar("INSERT INTO placed (customer) VALUES ($1) RETURNING number")
        .bind(order.customer)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Receipt {
        number,
        customer: order.customer,
        status: "placed".to_owned() + &"x".repeat(*PADDING),
    })
}
