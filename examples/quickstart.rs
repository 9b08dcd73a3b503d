//! A handler that is safe to retry, shown on a terminal: `cargo run --example quickstart`.
//!
//! It needs nothing installed: the database is an SQLite file in a temporary directory. Everything that it
//! prints is also asserted, so an exit code of 0 says that all of it is true.

use std::env;
use std::error::Error;
use std::future;
use std::path::Path;
use std::process::Stdio;

use idem_runtime::{IdempotencyKey, Replayable, Scope, idempotent, schema};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteTransaction};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::Notify;

/// The client's request. It is compared on a retry.
#[derive(Serialize)]
struct CreatePayment {
    payee: &'static str,
    cents: u32,
}

/// The client's answer. It is recorded, and replayed to every retry.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Payment {
    number: i64,
}

#[derive(Debug, thiserror::Error)]
enum PaymentError {
    #[error("the account is empty")]
    AccountEmpty,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// The handler. The library sends BEGIN and COMMIT, and the returned result is committed together with the
/// body's writes.
#[idempotent(namespace = "payments", retention = "24h", skip(fate))]
async fn create_payment(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    request: &CreatePayment,
    fate: &Fate<'_>,
) -> Result<Payment, PaymentError> {
    let number = sqlx::query_scalar(
        "INSERT INTO payment (key, payee, cents) VALUES (?1, ?2, ?3) RETURNING number",
    )
    .bind(key.as_str())
    .bind(request.payee)
    .bind(request.cents)
    .fetch_one(&mut **tx)
    .await?;
    // For the demonstration only. A body talks to its database only: it holds the write lock, so every other
    // writer would wait while it waits for a network.
    fate.strike().await?;
    Ok(Payment { number })
}

/// An event between a call's write and its COMMIT, for this demonstration.
enum Fate<'g> {
    Well,
    /// The account is empty.
    Broke,
    /// Waits until the gate opens.
    Slow(&'g Gate),
    /// Never goes on, and prints on standard output that it got here.
    Stuck,
}

#[derive(Default)]
struct Gate {
    reached: Notify,
    open: Notify,
}

impl Fate<'_> {
    async fn strike(&self) -> Result<(), PaymentError> {
        match self {
            Self::Well => Ok(()),
            Self::Broke => Err(PaymentError::AccountEmpty),
            Self::Slow(gate) => {
                gate.reached.notify_one();
                gate.open.notified().await;
                Ok(())
            }
            Self::Stuck => {
                println!("written");
                future::pending().await
            }
        }
    }
}

/// Returns the key that the client sent, with its owner: another customer's `order-1` is another key.
fn key(text: &str) -> Result<IdempotencyKey, Box<dyn Error>> {
    Ok(text
        .parse::<IdempotencyKey>()?
        .scoped(Scope::new("customer-42")?))
}

async fn open(file: &Path) -> Result<SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    SqlitePool::connect_with(options).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(file) = env::args_os().nth(1) {
        return doomed(Path::new(&file)).await;
    }
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("payments.db");
    let pool = open(&file).await?;
    schema::create_if_missing(&mut pool.acquire().await?).await?;
    // No constraint of this table keeps two rows of one key apart: the library does.
    sqlx::query(
        "CREATE TABLE payment (number INTEGER PRIMARY KEY, key TEXT, payee TEXT, cents INTEGER)",
    )
    .execute(&pool)
    .await?;

    replay(&pool).await?;
    Box::pin(duplicates(&pool)).await?; // it holds two calls at once
    failure(&pool).await?;
    crash(&pool, &file).await?;
    show_payments(&pool).await?;
    pool.close().await;
    Ok(())
}

async fn replay(pool: &SqlitePool) -> Result<(), Box<dyn Error>> {
    let (key, request) = (key("order-1")?, payment("Ada", 4990));

    println!("1. A client pays 49.90 to Ada with the key order-1.");
    let first = create_payment(pool, &key, &request, &Fate::Well).await?;
    assert!(!first.replayed());
    report(&first);

    println!("2. The answer got lost on its way, so the client sends the same again.");
    let again = create_payment(pool, &key, &request, &Fate::Well).await?;
    assert!(again.replayed() && *again == *first);
    report(&again);

    println!("3. The same key, but now 99.90: a fault of the client, not a retry.");
    let changed = payment("Ada", 9990);
    let refused = create_payment(pool, &key, &changed, &Fate::Well).await;
    let Err(PaymentError::Idempotency(error @ idem_runtime::Error::Mismatch(_))) = refused else {
        panic!("a changed request was not refused");
    };
    println!("   Refused: {error}.\n");
    Ok(())
}

async fn duplicates(pool: &SqlitePool) -> Result<(), Box<dyn Error>> {
    let (key, request) = (key("order-2")?, payment("Grace", 1250));
    let gate = Gate::default();
    let slow = Fate::Slow(&gate);

    println!("4. An impatient client sends order-2 twice, the second while the first still runs.");
    let (first, second) = tokio::join!(create_payment(pool, &key, &request, &slow), async {
        gate.reached.notified().await;
        let second = create_payment(pool, &key, &request, &slow).await;
        gate.open.notify_one();
        second
    });
    let first = first?;
    report(&first);
    let Err(PaymentError::Idempotency(error @ idem_runtime::Error::InFlight { .. })) = second
    else {
        panic!("the duplicate was not refused while the first was running");
    };
    println!("   The second was refused: {error}. It comes back:");
    let again = create_payment(pool, &key, &request, &slow).await?;
    assert!(again.replayed() && *again == *first);
    report(&again);
    Ok(())
}

async fn failure(pool: &SqlitePool) -> Result<(), Box<dyn Error>> {
    let (key, request) = (key("order-3")?, payment("Alan", 700));

    println!(
        "5. The handler of order-3 has written its row when the account turns out to be empty."
    );
    let failed = create_payment(pool, &key, &request, &Fate::Broke).await;
    let Err(error @ PaymentError::AccountEmpty) = failed else {
        panic!("the handler's own error was not returned");
    };
    assert_eq!(rows(pool, &key).await?, 0);
    println!("   It failed: {error}. Its row is gone, and the key is fresh. Money has come in:");
    report(&create_payment(pool, &key, &request, &Fate::Well).await?);
    Ok(())
}

async fn crash(pool: &SqlitePool, file: &Path) -> Result<(), Box<dyn Error>> {
    let (key, request) = (key("order-4")?, payment("Edsger", 3300));

    println!("6. Another process handles order-4. Between its write and COMMIT it is killed.");
    let mut child = Command::new(env::current_exe()?)
        .arg(file)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = child.stdout.take().ok_or("the child has no output")?;
    let line = BufReader::new(stdout).lines().next_line().await?;
    assert_eq!(line.as_deref(), Some("written"));
    child.kill().await?;
    let status = child.wait().await?;
    assert!(!status.success());
    assert_eq!(rows(pool, &key).await?, 0);
    println!("   It is dead ({status}), and nothing of it is left. The client tries again:");
    let retried = create_payment(pool, &key, &request, &Fate::Well).await?;
    assert!(!retried.replayed());
    report(&retried);
    Ok(())
}

/// Runs in the child process of [`crash`]: writes, and waits there to be killed.
async fn doomed(file: &Path) -> Result<(), Box<dyn Error>> {
    let (key, request) = (key("order-4")?, payment("Edsger", 3300));
    create_payment(&open(file).await?, &key, &request, &Fate::Stuck).await?;
    Ok(())
}

/// Shows the business's own table, with the effects of all calls.
async fn show_payments(pool: &SqlitePool) -> Result<(), Box<dyn Error>> {
    let payments: Vec<(i64, String, String, u32)> =
        sqlx::query_as("SELECT number, key, payee, cents FROM payment ORDER BY number")
            .fetch_all(pool)
            .await?;
    println!("The table of payments:");
    println!("   number  key      payee    amount");
    for (number, key, payee, cents) in &payments {
        let (units, cents) = (cents / 100, cents % 100);
        println!("   {number:>6}  {key:<7}  {payee:<7}  {units:>3}.{cents:02}");
    }
    let keys: Vec<&str> = payments.iter().map(|(_, key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["order-1", "order-2", "order-3", "order-4"]);
    println!("\n4 keys, 4 payments: one effect per key.");
    Ok(())
}

fn payment(payee: &'static str, cents: u32) -> CreatePayment {
    CreatePayment { payee, cents }
}

fn report(payment: &Replayable<Payment>) {
    let number = payment.number;
    if payment.replayed() {
        println!("   Payment {number}, replayed: nothing was done a second time.\n");
    } else {
        println!("   Payment {number} was made.\n");
    }
}

async fn rows(pool: &SqlitePool, key: &IdempotencyKey) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT count(*) FROM payment WHERE key = ?1")
        .bind(key.as_str())
        .fetch_one(pool)
        .await
}
