//! The same engine without the attribute: `cargo run --example plain_function`.
//!
//! For handlers that are built at run time, and for readers who prefer a function call. The operation is a
//! constant, checked at compile time; the body is a closure over the transaction.

use std::error::Error;
use std::time::Duration;

use idem_runtime::{IdempotencyKey, Operation, Replayable, schema};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

const SHIP: Operation = Operation::new("orders", "ship").retention(Duration::from_hours(7 * 24));

/// The error of a body: any type that the library's own error converts into.
type Failure = Box<dyn Error + Send + Sync>;

async fn ship(
    pool: &SqlitePool,
    key: &IdempotencyKey,
    order: u32,
) -> Result<Replayable<String>, Failure> {
    SHIP.run(pool, key, &order, async |tx| {
        let parcel: i64 =
            sqlx::query_scalar("INSERT INTO parcel (order_no) VALUES (?1) RETURNING id")
                .bind(order)
                .fetch_one(&mut **tx)
                .await?;
        Ok::<_, Failure>(format!("parcel {parcel}"))
    })
    .await
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // `sqlite::memory:` is a new database for each connection, so there may be only one.
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await?;
    schema::create_if_missing(&mut pool.acquire().await?).await?;
    sqlx::query("CREATE TABLE parcel (id INTEGER PRIMARY KEY, order_no INTEGER)")
        .execute(&pool)
        .await?;

    let key = "7f3c".parse::<IdempotencyKey>()?.global();
    let first = ship(&pool, &key, 17).await?;
    println!("Order 17 goes out as {}.", *first);
    let again = ship(&pool, &key, 17).await?;
    println!("Asked again, it is still {}.", *again);
    assert!(!first.replayed() && again.replayed() && *first == *again);

    let parcels: i64 = sqlx::query_scalar("SELECT count(*) FROM parcel")
        .fetch_one(&pool)
        .await?;
    assert_eq!(parcels, 1);
    println!("1 key, 1 parcel.");
    Ok(())
}
