//! The same handler on PostgreSQL and on MySQL.

use idem_runtime::{IdempotencyKey, idempotent};
use sqlx::{MySqlTransaction, PgTransaction};

use crate::{OrderError, PlaceOrder};

/// Places an order on PostgreSQL. Returns its number.
///
/// # Errors
/// An error of the database or of the library.
#[idempotent(namespace = "orders", marker = PlaceOnPostgres)]
pub async fn place_on_postgres(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    order: &PlaceOrder,
) -> Result<i64, OrderError> {
    let insert = "INSERT INTO orders (item) VALUES ($1) RETURNING number";
    let number = sqlx::query_scalar(insert).bind(&order.item);
    Ok(number.fetch_one(&mut **tx).await?)
}

/// Places an order on MySQL. Returns its number.
///
/// # Errors
/// An error of the database or of the library.
#[idempotent(namespace = "orders", marker = PlaceOnMySql)]
pub async fn place_on_mysql(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    order: &PlaceOrder,
) -> Result<u64, OrderError> {
    let placed = sqlx::query("INSERT INTO orders (item) VALUES (?)").bind(&order.item);
    Ok(placed.execute(&mut **tx).await?.last_insert_id())
}
