//! The comparison on SQLite: idem and durare, each on its own file, for both settings of
//! `synchronous`. durare's default is NORMAL, which may lose the last COMMITs after a power
//! failure.

use std::path::{Path, PathBuf};
use std::time::Instant;

use idem_runtime::{IdempotencyKey, idempotent, schema};
use sqlx::SqlitePool;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
    SqliteTransaction,
};

use crate::Fault;
use crate::document::Report;
use crate::durare::Durare;
use crate::numbers::{Chance, Sample};
use crate::options::Options;
use crate::postgres::Record;
use crate::server::settled;
use crate::work::{Paid, Pay, PayError, fresh_key, key};

const TABLE: &str = "\
CREATE TABLE payment (id integer PRIMARY KEY, account integer NOT NULL, amount integer NOT NULL, note text NOT NULL)";

const CASES: [&str; 6] = [
    "plain",
    "plain, sqlx 0.8, beside durare",
    "idem",
    "idem, replay",
    "durare, transaction step",
    "durare, replay",
];

#[idempotent(namespace = "bench")]
async fn pay(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(body(tx, cmd).await?)
}

async fn body(tx: &mut SqliteTransaction<'_>, cmd: &Pay) -> Result<Paid, sqlx::Error> {
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

pub(crate) async fn run(
    options: &Options,
    chance: &mut Chance,
    report: &mut Report,
) -> Result<(), Fault> {
    std::fs::create_dir_all(&options.out)?;
    for (name, setting) in [
        ("FULL", SqliteSynchronous::Full),
        ("NORMAL", SqliteSynchronous::Normal),
    ] {
        compare(name, setting, options, chance, report).await?;
    }
    Ok(())
}

async fn compare(
    name: &str,
    setting: SqliteSynchronous,
    options: &Options,
    chance: &mut Chance,
    report: &mut Report,
) -> Result<(), Fault> {
    let files = ["ours", "durare"].map(|who| options.out.join(format!("peers-{who}.sqlite")));
    remove(&files);
    let [ours, theirs] = &files;
    // The table is created before durare starts, and the payments are counted after it has ended.
    let pool = open(theirs, setting).await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;
    pool.close().await;
    let file = theirs.to_str().ok_or("a path that is text")?;
    let mut durare = Durare::start(&options.durare, &["sqlite", file, &name.to_lowercase()])?;
    let pool = open(ours, setting).await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;
    let mut connection = pool.acquire().await?;
    schema::create_if_missing(&mut *connection).await?;
    drop(connection);

    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&pool)
        .await?;
    let recorded = key("recorded");
    let our_id = pay(&pool, &recorded, &Pay::of(2)).await?.id;
    let (_, their_id) = durare.pay("recorded", 4)?;
    let iterations = options.scaled(300);
    let warm_up = 8;
    let mut samples = CASES.map(|_| Sample::default());
    for iteration in 0..warm_up + iterations {
        for case in chance.order(CASES.len()) {
            let begun = Instant::now();
            let (taken, good) = match case {
                0 => {
                    let mut tx = pool.begin().await?;
                    body(&mut tx, &Pay::of(0)).await?;
                    tx.commit().await?;
                    (begun.elapsed(), true)
                }
                1 => (durare.plain(1)?.0, true),
                2 => {
                    let paid = pay(&pool, &fresh_key(), &Pay::of(2)).await?;
                    (begun.elapsed(), !paid.replayed())
                }
                3 => {
                    let paid = pay(&pool, &recorded, &Pay::of(2)).await?;
                    (begun.elapsed(), paid.replayed() && paid.id == our_id)
                }
                4 => {
                    let (taken, id) = durare.pay(fresh_key().as_str(), 4)?;
                    (taken, id != their_id)
                }
                _ => {
                    let (taken, id) = durare.pay("recorded", 4)?;
                    (taken, id == their_id)
                }
            };
            if !good {
                return Err(format!("{}: not as the key is", CASES[case]).into());
            }
            settled(&pool).await;
            if iteration >= warm_up {
                samples[case].push_time(taken);
            }
        }
    }
    drop(durare);
    let fresh = i64::try_from(warm_up + iterations)?;
    let theirs = open(theirs, setting).await?;
    for (pool, account, expected) in [
        (&pool, 0, fresh),
        (&theirs, 1, fresh),
        (&pool, 2, fresh + 1),
        (&theirs, 4, fresh + 1),
    ] {
        let counted: i64 = sqlx::query_scalar("SELECT count(*) FROM payment WHERE account = ?")
            .bind(account)
            .fetch_one(pool)
            .await?;
        if counted != expected {
            let name = CASES[usize::try_from(account)?];
            return Err(format!("{name}: {counted} payments for {expected} keys").into());
        }
    }
    pool.close().await;
    theirs.close().await;
    remove(&files);

    let [plain, beside, ours, our_replay, theirs, their_replay] = samples;
    let rows = [
        (CASES[0], Record::of(plain, Sample::default())),
        (CASES[1], Record::of(beside, Sample::default())),
        (CASES[2], Record::of(ours, our_replay)),
        (CASES[4], Record::of(theirs, their_replay)),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, record)| (*name, record)).collect();
    let caption = format!("SQLite {version}, WAL, synchronous = {name}; {iterations} iterations");
    report.times(&format!("sqlite {name}"), &caption, &rows, chance);
    Ok(())
}

async fn open(file: &Path, setting: SqliteSynchronous) -> Result<SqlitePool, Fault> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(setting);
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await?;
    Ok(pool)
}

fn remove(files: &[PathBuf]) {
    for file in files {
        for ending in ["", "-wal", "-shm"] {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            let _ = std::fs::remove_file(PathBuf::from(name));
        }
    }
}
