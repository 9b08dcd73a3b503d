//! durare in its own process: reads one command a line, runs it, and answers with the time taken.
//!
//! `plain ACCOUNT` makes the payment without durare, on durare's pool. `pay KEY ACCOUNT` runs it as
//! durare's transaction step in a workflow whose id is the key, as durare's documentation shows;
//! the same key again is a replay. The answer to both is the time in nanoseconds and the id of the
//! payment.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use durare::{
    DurableContext, DurableEngine, PostgresProvider, SqliteProvider, Tx, WorkflowOptions, params,
};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Database, PgPool, Pool};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The request, the same as the bench's.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pay {
    account: i64,
    amount: i64,
    currency: String,
    note: String,
    declined: bool,
}

impl Pay {
    fn of(account: i64) -> Self {
        Self {
            account,
            amount: 1_250,
            currency: "EUR".into(),
            note: "order 2026-0193, two of three parcels, as agreed by telephone".into(),
            declined: false,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Paid {
    id: i64,
}

/// Connections of durare to PostgreSQL search its own schema first.
const INSERT_POSTGRES: &str =
    "INSERT INTO public.payment (account, amount, note) VALUES (?, ?, ?) RETURNING id";
const INSERT_SQLITE: &str =
    "INSERT INTO payment (account, amount, note) VALUES (?, ?, ?) RETURNING id";
static INSERT: OnceLock<&str> = OnceLock::new();

#[durare::transaction]
async fn insert(ctx: &DurableContext, tx: &mut Tx<'_>, cmd: Pay) -> durare::Result<Paid> {
    let sql = INSERT.get().copied().unwrap_or(INSERT_POSTGRES);
    let row = tx
        .query_one(sql, &params![cmd.account, cmd.amount, cmd.note])
        .await?;
    Ok(Paid {
        id: row.get::<i64>("id"),
    })
}

#[durare::workflow]
async fn take_payment(ctx: DurableContext, cmd: Pay) -> durare::Result<Paid> {
    insert(&ctx, cmd).await
}

/// The database that holds the payments.
enum PeerDatabase {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

impl PeerDatabase {
    async fn plain(&self, cmd: &Pay) -> Result<i64, sqlx::Error> {
        match self {
            Self::Postgres(pool) => {
                let mut tx = pool.begin().await?;
                let id = sqlx::query_scalar(
                    "INSERT INTO public.payment (account, amount, note) VALUES ($1, $2, $3) RETURNING id",
                )
                .bind(cmd.account)
                .bind(cmd.amount)
                .bind(&cmd.note)
                .fetch_one(&mut *tx)
                .await?;
                tx.commit().await?;
                Ok(id)
            }
            Self::Sqlite(pool) => {
                let mut tx = pool.begin().await?;
                let id = sqlx::query_scalar(INSERT_SQLITE)
                    .bind(cmd.account)
                    .bind(cmd.amount)
                    .bind(&cmd.note)
                    .fetch_one(&mut *tx)
                    .await?;
                tx.commit().await?;
                Ok(id)
            }
        }
    }

    /// Waits until the pool's pings are over. One connection to PostgreSQL is always in use: durare
    /// listens on it.
    async fn settled(&self) {
        match self {
            Self::Postgres(pool) => settled(pool, 1).await,
            Self::Sqlite(pool) => settled(pool, 0).await,
        }
    }
}

async fn settled<DB: Database>(pool: &Pool<DB>, in_use: usize) {
    let size = || usize::try_from(pool.size()).unwrap_or(usize::MAX);
    while pool.num_idle() + in_use < size() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let outcome = runtime.map_err(Fault::from).and_then(|runtime| {
        // Runs in a task, because a worker would have to wake the main thread at each await.
        runtime.block_on(async { tokio::spawn(serve(arguments)).await })?
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("durare: {fault}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: Vec<String>) -> Result<(), Fault> {
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (engine, position) = match words[..] {
        ["postgres", url] => {
            let provider = PostgresProvider::connect(url).await?;
            let position = PeerDatabase::Postgres(provider.pool().clone());
            let _ = INSERT.set(INSERT_POSTGRES);
            (DurableEngine::builder(Arc::new(provider)), position)
        }
        ["sqlite", file, synchronous] => {
            let pool = sqlite(file, synchronous).await?;
            let provider = SqliteProvider::from_pool(pool.clone());
            let _ = INSERT.set(INSERT_SQLITE);
            (
                DurableEngine::builder(Arc::new(provider)),
                PeerDatabase::Sqlite(pool),
            )
        }
        _ => return Err("postgres URL, or sqlite FILE full|normal".into()),
    };
    let engine = engine.build().await?;
    engine.recover().await?;
    answer("ready")?;
    while let Some(line) = tokio::task::spawn_blocking(line).await?? {
        let words: Vec<_> = line.split_whitespace().collect();
        let begun = Instant::now();
        let id = match words[..] {
            ["plain", account] => position.plain(&Pay::of(account.parse()?)).await?,
            ["pay", key, account] => {
                let options = WorkflowOptions::with_id(key);
                let handle = engine
                    .start_with(TakePayment, Pay::of(account.parse()?), options)
                    .await?;
                handle.await?.id
            }
            _ => return Err(format!("not understood: {line}").into()),
        };
        let taken = begun.elapsed();
        position.settled().await;
        answer(&format!("{} {id}", taken.as_nanos()))?;
    }
    engine.shutdown(Duration::from_secs(1)).await?;
    Ok(())
}

/// Opens a pool as durare does, except for the given setting of `synchronous`.
async fn sqlite(file: &str, synchronous: &str) -> Result<SqlitePool, Fault> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match synchronous {
            "full" => SqliteSynchronous::Full,
            _ => SqliteSynchronous::Normal,
        })
        .busy_timeout(Duration::from_secs(5));
    let pool = SqlitePoolOptions::new()
        .max_connections(5)
        .connect_with(options)
        .await?;
    Ok(pool)
}

fn line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let count = io::stdin().lock().read_line(&mut line)?;
    Ok((count > 0).then_some(line))
}

fn answer(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
