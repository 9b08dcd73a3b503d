//! A client process for the tests: it sends a mail under a lease and never returns from the body.
//!
//! `mailer URL retry|unknown KEY` claims the key, delivers the mail, prints `handed in`, and waits
//! for ever.

use std::env;
use std::error::Error;
use std::future;

use idem_runtime::handler::LeaseSource;
use idem_runtime::{Attempt, IdempotencyKey, idempotent};
use sqlx::{PgPool, SqlitePool};

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct MailError(#[from] idem_runtime::Error);

#[idempotent(
    namespace = "mail",
    operation = "send",
    lease = "5m",
    on_lapse = "retry"
)]
async fn send_again(attempt: &Attempt, key: &IdempotencyKey, to: String) -> Result<u8, MailError> {
    hand_in(attempt, key, &to).await
}

#[idempotent(
    namespace = "mail",
    operation = "send",
    lease = "5m",
    on_lapse = "unknown"
)]
async fn send_once(attempt: &Attempt, key: &IdempotencyKey, to: String) -> Result<u8, MailError> {
    hand_in(attempt, key, &to).await
}

async fn hand_in(attempt: &Attempt, key: &IdempotencyKey, to: &str) -> Result<u8, MailError> {
    assert!(attempt.number() == 1 && !key.as_str().is_empty() && !to.is_empty());
    println!("handed in");
    future::pending().await
}

async fn send(db: impl LeaseSource, policy: &str, key: &str) -> Result<(), Box<dyn Error>> {
    let key = key.parse::<IdempotencyKey>()?.global();
    let to = "ada@example.org".to_owned();
    match policy {
        "retry" => send_again(db, &key, to).await?,
        _ => send_once(db, &key, to).await?,
    };
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut next = || arguments.next().ok_or("URL, policy and key?");
    let (url, policy, key) = (next()?, next()?, next()?);
    if url.starts_with("sqlite:") {
        send(&SqlitePool::connect(&url).await?, &policy, &key).await
    } else {
        send(&PgPool::connect(&url).await?, &policy, &key).await
    }
}
