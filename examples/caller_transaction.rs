//! A handler inside the caller's own transaction: `cargo run --example caller_transaction`.
//!
//! The handler gets a savepoint. If the caller commits, the handler's writes are committed with the caller's
//! own. If the handler fails, its writes are rolled back and the caller may go on. If the caller rolls back,
//! nothing has happened at all.

use std::error::Error;

use idem_runtime::{IdempotencyKey, idempotent, schema};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions, SqliteTransaction};

#[derive(Debug, thiserror::Error)]
enum SeatError {
    #[error("there is no seat left")]
    SoldOut,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

#[idempotent(namespace = "seats", retention = "24h")]
async fn book_seat(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    guest: &str,
) -> Result<i64, SeatError> {
    sqlx::query("INSERT INTO log (line) VALUES ('a seat was asked for')")
        .execute(&mut **tx)
        .await?;
    sqlx::query_scalar(
        "UPDATE seat SET guest = ?1 \
         WHERE number = (SELECT min(number) FROM seat WHERE guest IS NULL) RETURNING number",
    )
    .bind(guest)
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(SeatError::SoldOut)
}

async fn log(tx: &mut SqliteTransaction<'_>, line: &str) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO log (line) VALUES (?1)")
        .bind(line)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn lines(pool: &SqlitePool) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT line FROM log ORDER BY rowid")
        .fetch_all(pool)
        .await
}

fn key(text: &str) -> Result<IdempotencyKey, idem_runtime::Error> {
    Ok(text.parse::<IdempotencyKey>()?.global())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await?;
    schema::create_if_missing(&mut pool.acquire().await?).await?;
    sqlx::raw_sql(
        "CREATE TABLE seat (number INTEGER PRIMARY KEY, guest TEXT); \
         CREATE TABLE log (line TEXT); \
         INSERT INTO seat (number) VALUES (1)",
    )
    .execute(&pool)
    .await?;

    // The caller rolls back: the seat is free again, and so is the key.
    let mut tx = pool.begin().await?;
    let seat = book_seat(&mut tx, &key("a")?, "Ada").await?;
    println!("Ada gets seat {}, and the caller rolls back.", *seat);
    tx.rollback().await?;
    assert!(lines(&pool).await?.is_empty());

    // The caller's line and the handler's commit together.
    let mut tx = pool.begin().await?;
    log(&mut tx, "Ada called").await?;
    let seat = book_seat(&mut tx, &key("a")?, "Ada").await?;
    assert!(!seat.replayed());
    tx.commit().await?;
    println!("Ada gets seat {}, and the caller commits.", *seat);

    // The handler fails: its own line is gone, and the caller's transaction is as good as before.
    let mut tx = pool.begin().await?;
    log(&mut tx, "Grace called").await?;
    let Err(error @ SeatError::SoldOut) = book_seat(&mut tx, &key("b")?, "Grace").await else {
        panic!("there was one seat");
    };
    log(&mut tx, "Grace was told").await?;
    tx.commit().await?;
    println!("Grace hears that {error}, and the caller commits its own part.");

    let lines = lines(&pool).await?;
    println!("The log:\n   {}", lines.join("\n   "));
    assert_eq!(
        lines,
        [
            "Ada called",
            "a seat was asked for",
            "Grace called",
            "Grace was told"
        ]
    );
    Ok(())
}
