//! An effect outside the database, under a lease: `cargo run --example notifier`.
//!
//! A mail cannot be rolled back, so its handler runs without a transaction. Here the first attempt loses the
//! relay's answer. Nobody then knows whether the mail was sent, and it is not sent again until somebody has
//! found out.

use std::error::Error;
use std::time::Duration;

use idem_runtime::store::Store;
use idem_runtime::{Attempt, IdempotencyKey, Namespace, idempotent, lease, schema};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

#[derive(Debug, Clone, Serialize)] // compared on every retry, and kept in the record
struct Notice {
    to: String,
    /// Simulates a relay that accepts the mail and whose answer is lost.
    answer_is_lost: bool,
}

#[derive(Debug, Serialize, Deserialize)] // recorded, and replayed
struct Receipt {
    relay_id: String,
}

#[derive(Debug, thiserror::Error)]
enum NoticeError {
    #[error("the relay did not answer")]
    NoAnswer,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

#[idempotent(namespace = "mail", lease = "1m")]
async fn notify(
    attempt: &Attempt,
    key: &IdempotencyKey,
    notice: Notice,
) -> Result<Receipt, NoticeError> {
    // The relay gets the same key on every attempt, and the lease is renewed before it is called.
    let relay_key = attempt.external_key();
    attempt.heartbeat().await?;
    if notice.answer_is_lost {
        attempt.outcome_unknown();
        return Err(NoticeError::NoAnswer);
    }
    Ok(Receipt {
        relay_id: format!("relay-{}", &relay_key[..8]),
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool: SqlitePool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await?;
    schema::create_if_missing(&mut *pool.acquire().await?).await?;
    let notice = |answer_is_lost| Notice {
        to: "ada@example.org".to_owned(),
        answer_is_lost,
    };

    let key = "order-17".parse::<IdempotencyKey>()?.global();
    let sent = notify(&pool, &key, notice(false)).await?;
    let again = notify(&pool, &key, notice(false)).await?;
    assert!(!sent.replayed() && again.replayed());
    println!(
        "Order 17: sent as {}, and asked again, replayed.",
        sent.relay_id
    );

    let key = "order-18".parse::<IdempotencyKey>()?.global();
    let lost = notify(&pool, &key, notice(true)).await;
    println!("Order 18: {}.", lost.expect_err("no answer"));
    let again = notify(&pool, &key, notice(true)).await;
    println!("Order 18, again: {}.", again.expect_err("nobody knows"));

    // Somebody asks the relay by the key that it was given, and records its answer.
    let store = Store::<serde_json::Value, Receipt>::new(Namespace::from_static("mail"));
    {
        let mut conn = pool.acquire().await?;
        let mut records = store.in_connection(&mut *conn);
        for unknown in records.list_unknown(10, None).await? {
            let relay_id = format!("relay-{}", &unknown.external_key()[..8]);
            records
                .resolve_completed(&unknown, &Receipt { relay_id })
                .await?;
        }
    }
    let found = notify(&pool, &key, notice(true)).await?;
    assert!(found.replayed());
    println!("Order 18, found out: it was {}.", found.relay_id);

    // At shutdown, waits for the runs whose callers are gone.
    tokio::time::timeout(Duration::from_secs(30), lease::drain()).await?;
    println!("2 keys, 2 mails.");
    Ok(())
}
