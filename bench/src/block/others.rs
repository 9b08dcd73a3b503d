//! Measures first run and replay on SQLite and MariaDB against the same work without the library.

use std::time::Instant;

use idem_runtime::{IdempotencyKey, idempotent, schema};
use idem_tests_cluster::mariadb;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{MySql, Pool, Sqlite, Transaction};

use super::Bench;
use crate::Fault;
use crate::numbers::Sample;
use crate::report::table::{ratio, time};
use crate::report::{Report, Table};
use crate::server::settled;
use crate::work::{NAMESPACE, Paid, Pay, PayError, fresh_key, key};

const CASES: [(&str, &str); 5] = [
    ("plain, 1 statement", ""),
    ("first run, 1 statement", "plain, 1 statement"),
    ("one SELECT", ""),
    ("replay", "one SELECT"),
    ("mismatch", "one SELECT"),
];

/// The cases, for a database whose placeholders are question marks.
macro_rules! cases {
    ($module:ident, $database:ty) => {
        mod $module {
            use super::*;

            #[idempotent(namespace = "bench")]
            async fn pay(
                tx: &mut Transaction<'_, $database>,
                key: &IdempotencyKey,
                cmd: &Pay,
            ) -> Result<Paid, PayError> {
                let _ = key;
                Ok(body(tx, cmd).await?)
            }

            async fn body(
                tx: &mut Transaction<'_, $database>,
                cmd: &Pay,
            ) -> Result<Paid, sqlx::Error> {
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

            pub(super) async fn prepare(pool: &Pool<$database>, table: &'static str) -> Result<(), Fault> {
                sqlx::raw_sql(table).execute(pool).await?;
                let mut connection = pool.acquire().await?;
                schema::create_if_missing(&mut *connection).await?;
                drop(connection);
                pay(pool, &key("recorded"), &Pay::of(1)).await?;
                Ok(())
            }

            pub(super) async fn perform(case: usize, pool: &Pool<$database>) -> Result<(), Fault> {
                match case {
                    0 => {
                        let mut tx = pool.begin().await?;
                        body(&mut tx, &Pay::next()).await?;
                        tx.commit().await?;
                    }
                    1 => {
                        if pay(pool, &fresh_key(), &Pay::next()).await?.replayed() {
                            return Err("replayed, where the key is fresh".into());
                        }
                    }
                    2 => {
                        sqlx::query_scalar::<_, Vec<u8>>(
                            "SELECT result FROM idem_record WHERE namespace = ? AND scope = ? AND `key` = ?",
                        )
                        .bind(NAMESPACE)
                        .bind("")
                        .bind("recorded")
                        .fetch_one(pool)
                        .await?;
                    }
                    3 => {
                        if !pay(pool, &key("recorded"), &Pay::of(1)).await?.replayed() {
                            return Err("run, where the key is recorded".into());
                        }
                    }
                    _ => {
                        if pay(pool, &key("recorded"), &Pay::of(2)).await.is_ok() {
                            return Err("no mismatch".into());
                        }
                    }
                }
                Ok(())
            }
        }
    };
}

cases!(on_sqlite, Sqlite);
cases!(on_mariadb, MySql);

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("others");
    let iterations = bench.options.scaled(300);
    let mut databases = Vec::new();

    std::fs::create_dir_all(&bench.options.out)?;
    let file = bench.options.out.join("bench.sqlite");
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(file.with_extension(format!("sqlite{ending}")));
    }
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let sqlite = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await?;
    on_sqlite::prepare(
        &sqlite,
        "CREATE TABLE payment (id integer PRIMARY KEY, account integer NOT NULL, amount integer NOT NULL, note text NOT NULL)",
    )
    .await?;
    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&sqlite)
        .await?;
    databases.push(format!("SQLite {version}, WAL, synchronous = FULL"));

    let settings = mariadb::Options::new()
        .set("innodb_flush_log_at_trx_commit", "1")
        .set("innodb_doublewrite", "ON")
        .set("innodb_buffer_pool_size", "256M")
        .set("innodb_log_file_size", "256M");
    let server = mariadb::Server::start(&settings)?;
    let options: MySqlConnectOptions = server.url("mysql").parse()?;
    let options = options.ssl_mode(MySqlSslMode::Disabled);
    let admin = MySqlPoolOptions::new()
        .max_connections(1)
        .connect_with(options.clone())
        .await?;
    sqlx::raw_sql("CREATE DATABASE bench")
        .execute(&admin)
        .await?;
    let version: String = sqlx::query_scalar("SELECT version()")
        .fetch_one(&admin)
        .await?;
    admin.close().await;
    let maria = MySqlPoolOptions::new()
        .max_connections(1)
        .connect_with(options.database("bench"))
        .await?;
    on_mariadb::prepare(
        &maria,
        "CREATE TABLE payment (id bigint AUTO_INCREMENT PRIMARY KEY, account bigint NOT NULL, amount bigint NOT NULL, note text NOT NULL)",
    )
    .await?;
    let version = version.split('-').next().unwrap_or_default();
    databases.push(format!(
        "MariaDB {version}, innodb_flush_log_at_trx_commit = 1"
    ));

    let mut samples = vec![Sample::default(); 2 * CASES.len()];
    for iteration in 0..iterations + 5 {
        for index in bench.chance.order(samples.len()) {
            let (database, case) = (index / CASES.len(), index % CASES.len());
            let begun = Instant::now();
            if database == 0 {
                on_sqlite::perform(case, &sqlite).await?;
            } else {
                on_mariadb::perform(case, &maria).await?;
            }
            let taken = begun.elapsed();
            settled(&sqlite).await;
            settled(&maria).await;
            if iteration >= 5 {
                samples[index].push_time(taken);
            }
        }
    }
    sqlite.close().await;
    maria.close().await;
    drop(server);
    for (database, samples) in databases.iter().zip(samples.chunks(CASES.len())) {
        report.tables.push(tabulate(database, samples, &mut bench));
        let short = database.split(' ').next().unwrap_or_default();
        for ((name, against), sample) in CASES.iter().zip(samples) {
            report.sample(&format!("{short}/{name}"), sample);
            if let Some(plain) = CASES.iter().position(|(other, _)| other == against) {
                let found = sample.median() / samples[plain].median();
                report.figure(&format!("{short}/{name}/ratio"), found);
            }
        }
    }
    Ok(report)
}

fn tabulate(database: &str, samples: &[Sample], bench: &mut Bench<'_>) -> Table {
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
    for ((name, against), sample) in CASES.iter().zip(samples) {
        let plain = CASES.iter().position(|(other, _)| other == against);
        let found = plain.map(|plain| {
            let plain = &samples[plain];
            let (low, high) = sample.ratio_within(plain, &mut bench.chance);
            [
                ratio(sample.median() / plain.median()),
                format!("{low:.2} – {high:.2}"),
            ]
        });
        let [found, within] = found.unwrap_or_else(|| ["–".into(), "–".into()]);
        table.row(vec![
            (*name).to_owned(),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            if against.is_empty() {
                "–".into()
            } else {
                (*against).to_owned()
            },
            found,
            within,
        ]);
    }
    table
}
