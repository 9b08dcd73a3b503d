//! A client process for the tests: several of them share one database file.
//!
//! `sqlite-client FILE calls N` makes N calls with one key at once, retries each until it has an
//! answer, and prints each answer on a line.
//!
//! `sqlite-client FILE hang` writes, prints `written`, and never reaches COMMIT.
//!
//! `sqlite-client FILE attached OTHER` writes to another file as well, and prints `refused` if the
//! library refuses that; `attached-hang` prints `written` instead, before COMMIT.

use std::env;
use std::error::Error;
use std::future;
use std::time::Duration;

use idem_runtime::{IdempotencyKey, Replayable, idempotent};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteTransaction};
use tokio::task::JoinSet;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

#[idempotent(namespace = "payments", operation = "pay", skip(hang))]
async fn pay_beside(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
    hang: bool,
) -> Result<i64, PayError> {
    sqlx::query("INSERT INTO other.log VALUES (?1)")
        .bind(cents)
        .execute(&mut **tx)
        .await?;
    Ok(*pay(&mut *tx, &key.child("main")?, cents, hang).await?)
}

#[idempotent(namespace = "payments", operation = "pay", skip(hang))]
async fn pay(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
    hang: bool,
) -> Result<i64, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (key, cents) VALUES (?1, ?2) RETURNING id")
        .bind(key.as_str())
        .bind(cents)
        .fetch_one(&mut **tx)
        .await?;
    if hang {
        println!("written");
        future::pending::<()>().await;
    }
    Ok(id)
}

fn key() -> Result<IdempotencyKey, idem_runtime::Error> {
    Ok("one".parse::<IdempotencyKey>()?.global())
}

/// Retries until there is an answer. An error that does not allow a retry is an answer too.
async fn answer(pool: SqlitePool) -> Result<Replayable<i64>, PayError> {
    let key = key()?;
    loop {
        match pay(&pool, &key, 5, false).await {
            Err(PayError::Idempotency(error)) if error.is_retryable() => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            answer => return answer,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        .connect_lazy_with(SqliteConnectOptions::new().filename(file));
    match arguments.next().as_deref() {
        Some("calls") => {
            let calls: usize = arguments.next().ok_or("how many calls?")?.parse()?;
            let mut answers = JoinSet::new();
            for _ in 0..calls {
                answers.spawn(answer(pool.clone()));
            }
            while let Some(answer) = answers.join_next().await {
                println!("{}", *answer??);
            }
        }
        Some("hang") => {
            pay(&pool, &key()?, 5, true).await?;
        }
        Some(mode @ ("attached" | "attached-hang")) => {
            let other = arguments.next().ok_or("which other file?")?;
            let mut conn = pool.acquire().await?;
            sqlx::query("ATTACH ?1 AS other")
                .bind(other)
                .execute(&mut *conn)
                .await?;
            match pay_beside(&mut conn, &key()?, 5, mode == "attached-hang").await {
                Err(PayError::Idempotency(idem_runtime::Error::Schema(_))) => println!("refused"),
                other => println!("{other:?}"),
            }
            future::pending::<()>().await;
        }
        _ => return Err("calls, hang or attached?".into()),
    }
    pool.close().await;
    Ok(())
}
