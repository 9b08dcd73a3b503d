//! Measures first run and replay on SQLite against the same work without the library.

use std::path::Path;
use std::time::{Duration, Instant};

use idem_runtime::{IdempotencyKey, idempotent, schema};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::Bench;
use crate::Fault;
use crate::cases::chosen;
use crate::numbers::{Chance, Sample};
use crate::report::table::{ratio, time};
use crate::report::{Report, Table};
use crate::server::settled;
use crate::work::{NAMESPACE, Paid, Pay, PayError, fresh_key, key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Plain,
    First,
    Select,
    Replay,
    Mismatch,
}

/// A case: its name, its call, and the case that it is compared with.
type Case = (&'static str, Call, &'static str);

const PLAIN: &str = "plain, 1 statement";
const SELECT: &str = "one SELECT";

const CASES: [Case; 5] = [
    (PLAIN, Call::Plain, PLAIN),
    ("first run, 1 statement", Call::First, PLAIN),
    (SELECT, Call::Select, SELECT),
    ("replay", Call::Replay, SELECT),
    ("mismatch", Call::Mismatch, SELECT),
];

const MODES: [(&str, SqliteSynchronous); 2] = [
    ("NORMAL", SqliteSynchronous::Normal),
    ("FULL", SqliteSynchronous::Full),
];

const TABLE: &str = "CREATE TABLE payment \
     (id integer PRIMARY KEY, account integer NOT NULL, amount integer NOT NULL, note text NOT NULL)";

#[idempotent(namespace = "bench")]
async fn pay(
    tx: &mut Transaction<'_, Sqlite>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(body(tx, cmd).await?)
}

async fn body(tx: &mut Transaction<'_, Sqlite>, cmd: &Pay) -> Result<Paid, sqlx::Error> {
    let id = sqlx::query_scalar(
        "INSERT INTO payment (account, amount, note) VALUES (?, ?, ?) RETURNING id",
    )
    .bind(cmd.account)
    .bind(cmd.amount)
    .bind(cmd.note)
    .fetch_one(&mut **tx)
    .await?;
    Ok(Paid { id })
}

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("sqlite");
    let cases = chosen(bench.options, &CASES, |case| (case.0, case.2));
    if cases.is_empty() {
        return Ok(report);
    }
    std::fs::create_dir_all(&bench.options.out)?;
    let mut pools = Vec::new();
    for (mode, synchronous) in MODES {
        let file = bench.options.out.join(format!("bench-{mode}.sqlite"));
        pools.push(open(&file, synchronous).await?);
    }
    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&pools[0])
        .await?;
    let warm_up = 5;
    let mut samples = vec![Sample::default(); pools.len() * cases.len()];
    for iteration in 0..warm_up + bench.options.scaled(400) {
        for index in bench.chance.order(samples.len()) {
            let pool = &pools[index / cases.len()];
            let taken = perform(cases[index % cases.len()].1, pool).await?;
            if iteration >= warm_up {
                samples[index].push_time(taken);
            }
        }
    }
    for pool in pools {
        pool.close().await;
    }
    for ((mode, _), samples) in MODES.iter().zip(samples.chunks(cases.len())) {
        let caption = format!("SQLite {version}, WAL, synchronous = {mode}");
        report
            .tables
            .push(tabulate(&caption, &cases, samples, &mut bench.chance));
        for ((name, _, against), sample) in cases.iter().zip(samples) {
            report.sample(&format!("{mode}/{name}"), sample);
            if let Some(plain) = cases.iter().position(|(other, ..)| other == against) {
                let found = sample.median() / samples[plain].median();
                report.figure(&format!("{mode}/{name}/ratio"), found);
            }
        }
    }
    Ok(report)
}

/// Opens a pool on a new file, with the tables and one record.
async fn open(file: &Path, synchronous: SqliteSynchronous) -> Result<SqlitePool, Fault> {
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(file.with_extension(format!("sqlite{ending}")));
    }
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous);
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;
    let mut connection = pool.acquire().await?;
    schema::create_if_missing(&mut *connection).await?;
    drop(connection);
    pay(&pool, &key("recorded"), &Pay::of(1)).await?;
    Ok(pool)
}

/// Makes one call, and waits for the pool outside the measured time.
async fn perform(call: Call, pool: &SqlitePool) -> Result<Duration, Fault> {
    let begun = Instant::now();
    match call {
        Call::Plain => {
            let mut tx = pool.begin().await?;
            body(&mut tx, &Pay::next()).await?;
            tx.commit().await?;
        }
        Call::First => {
            if pay(pool, &fresh_key(), &Pay::next()).await?.replayed() {
                return Err("replayed, where the key is fresh".into());
            }
        }
        Call::Select => {
            sqlx::query_scalar::<_, Vec<u8>>(
                "SELECT result FROM idem_record WHERE namespace = ? AND scope = ? AND key = ?",
            )
            .bind(NAMESPACE)
            .bind("")
            .bind("recorded")
            .fetch_one(pool)
            .await?;
        }
        Call::Replay => {
            if !pay(pool, &key("recorded"), &Pay::of(1)).await?.replayed() {
                return Err("run, where the key is recorded".into());
            }
        }
        Call::Mismatch => {
            if pay(pool, &key("recorded"), &Pay::of(2)).await.is_ok() {
                return Err("no mismatch".into());
            }
        }
    }
    let taken = begun.elapsed();
    settled(pool).await;
    Ok(taken)
}

fn tabulate(database: &str, cases: &[Case], samples: &[Sample], chance: &mut Chance) -> Table {
    let mut table = Table::new(
        &format!(
            "{database}; {} iterations",
            samples.first().map_or(0, Sample::count)
        ),
        &[
            "case",
            "median",
            "quartiles",
            "against",
            "ratio",
            "95 of 100",
        ],
    );
    for ((name, _, against), sample) in cases.iter().zip(samples) {
        let mut cells = vec![
            (*name).to_owned(),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
        ];
        let plain = cases.iter().position(|(other, ..)| other == against);
        match plain.filter(|_| name != against) {
            Some(plain) => {
                let plain = &samples[plain];
                let (low, high) = sample.ratio_within(plain, chance);
                cells.extend([
                    (*against).to_owned(),
                    ratio(sample.median() / plain.median()),
                    format!("{low:.2} – {high:.2}"),
                ]);
            }
            None => cells.extend(["–", "–", "–"].map(str::to_owned)),
        }
        table.row(cells);
    }
    table
}
