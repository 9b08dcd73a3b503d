//! A client: calls, and calls again until it has an answer.

use std::path::Path;
use std::time::Duration;

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::{PgPoolOptions, PgTransaction};

use super::history::Log;
use super::{ACCOUNTS, choice};

/// A fault built in on purpose, which the checker must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// None.
    Nothing,
    /// The body writes on a connection of its own: effect and record in two transactions.
    EffectElsewhere,
    /// No lock is tried, and the table has lost its constraint since it was verified.
    NoConstraint,
}

impl Planted {
    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Nothing, Self::EffectElsewhere, Self::NoConstraint]
            .into_iter()
            .find(|planted| format!("{planted:?}") == name)
    }
}

#[derive(Clone, Debug, Serialize)]
struct Transfer {
    from: i64,
    to: i64,
    amount: i64,
}

#[derive(Debug, Deserialize, Serialize)]
struct Done {
    id: i64,
}

#[derive(Debug, thiserror::Error)]
enum TransferError {
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("the bank declines")]
    Declined,
    #[error("the bank does not answer")]
    BankDown,
}

impl Failure for TransferError {
    fn to_failure(&self) -> Option<StoredFailure> {
        matches!(self, Self::Declined).then(|| StoredFailure::new("Declined", self.to_string()))
    }

    fn from_failure(_: StoredFailure) -> Self {
        Self::Declined
    }
}

/// What else the body does.
#[derive(Clone, Copy)]
struct Fate {
    declines: bool,
    bank_down: bool,
}

#[idempotent(namespace = "torture", failures = "record", skip(fate, elsewhere))]
async fn transfer(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Transfer,
    fate: Fate,
    elsewhere: Option<&PgPool>,
) -> Result<Done, TransferError> {
    let mut other = None;
    if let Some(pool) = elsewhere {
        other = Some(pool.acquire().await?);
    }
    let conn = other.as_deref_mut().unwrap_or(&mut **tx);
    // In the order of their ids, so that two transfers do not wait for each other in a circle.
    let mut moves = [(cmd.from, -cmd.amount), (cmd.to, cmd.amount)];
    moves.sort_unstable();
    for (account, amount) in moves {
        sqlx::query("UPDATE account SET balance = balance + $2 WHERE id = $1")
            .bind(account)
            .bind(amount)
            .execute(&mut *conn)
            .await?;
    }
    let id = sqlx::query_scalar("INSERT INTO transfer (key, amount) VALUES ($1, $2) RETURNING id")
        .bind(key.as_str())
        .bind(cmd.amount)
        .fetch_one(&mut *conn)
        .await?;
    match fate {
        Fate { declines: true, .. } => Err(TransferError::Declined),
        Fate {
            bank_down: true, ..
        } => Err(TransferError::BankDown),
        Fate { .. } => Ok(Done { id }),
    }
}

/// What the key number `n` asks for.
fn command(n: u64) -> Transfer {
    let from = choice(n, 1) % ACCOUNTS;
    let to = (from + 1 + choice(n, 2) % (ACCOUNTS - 1)) % ACCOUNTS;
    Transfer {
        from: from.cast_signed(),
        to: to.cast_signed(),
        amount: (choice(n, 3) % 50).cast_signed() + 1,
    }
}

/// Makes `calls` calls over `keys` keys, and writes down what it sees.
///
/// # Errors
/// Those of the log; everything the database does is part of the game.
pub async fn run(
    url: &str,
    log: &Path,
    seed: u64,
    calls: u64,
    keys: u64,
    planted: Planted,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = PgPoolOptions::new().max_connections(4).connect_lazy(url)?;
    let mut log = Log::open(log)?;
    for place in 0..calls {
        let n = choice(seed, place * 4) % keys;
        let key = format!("key-{n}");
        let mut cmd = command(n);
        let changed = choice(seed, place * 4 + 1).is_multiple_of(20);
        cmd.amount += i64::from(changed) * 1_000;
        log.write(&format!("call {key}"))?;
        let mut tries = 0;
        let answer = loop {
            let fate = Fate {
                declines: n.is_multiple_of(10),
                bank_down: choice(seed, place * 4 + 2 + tries).is_multiple_of(7),
            };
            let elsewhere = (planted == Planted::EffectElsewhere).then_some(&pool);
            let asked = key.parse::<IdempotencyKey>()?.global();
            match transfer(&pool, &asked, &cmd, fate, elsewhere).await {
                Ok(done) => break format!("ok {key} {}", done.id),
                Err(TransferError::Declined) => break format!("declined {key}"),
                Err(TransferError::Idempotency(Error::Mismatch(_))) => {
                    break format!("mismatch {key}");
                }
                Err(TransferError::Idempotency(error)) if !error.is_retryable() => {
                    break format!("forbidden {key} {error:?}");
                }
                // In flight, lost, busy, gone, or the bank: the same call again.
                Err(_) => tries += 1,
            }
            // A client's back-off: nothing waits for it.
            tokio::time::sleep(Duration::from_millis(choice(seed, place ^ tries) % 20)).await;
        };
        log.write(&answer)?;
    }
    Ok(())
}
