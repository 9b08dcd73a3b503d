//! Retries of keys that the process has seen: they look their record up before they begin. That steers and never
//! decides, and leaves nothing in the server's log.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::patience::in_time;
use idem_tests::postgres::payments::{Pay, PayError, pay};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::task::JoinSet;

use super::refusals::like;

const CMD: Pay = Pay { amount: 1 };

/// Answers a text that nothing else has.
#[idempotent(namespace = "recitals", failures = "record")]
async fn recite(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    secret: &str,
) -> Result<String, PayError> {
    let _ = (tx, key);
    Ok(secret.to_owned())
}

const SECRET: &str = "the zebra is striped";
const CALLS: usize = 20;

/// Returns all that a server has written into its logs.
fn logs(cluster: &Cluster) -> Vec<(String, String)> {
    let folder = cluster.socket_dir().join("data/log");
    let files = fs::read_dir(folder).expect("the server has logs");
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("a log")).into_owned();
    files
        .map(|file| file.expect("a file").path())
        .map(|path| (path.display().to_string(), text(&path)))
        .collect()
}

fn is_of(path: &str, format: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == format)
}

/// Counts the errors in the server's log, which another process writes: makes one more, and waits for it.
async fn errors(shop: &Shop, cluster: &Cluster) -> usize {
    let last = fresh_key();
    let raise = format!("DO $$ BEGIN RAISE '{}'; END $$", last.as_str());
    let mut conn = shop.database.connect().await;
    let raised = conn.execute(AssertSqlSafe(raise)).await;
    raised.expect_err("it is raised");
    let is_written = |(_, text): &(String, String)| text.contains(last.as_str());
    in_time("the log is not written", async {
        while !logs(cluster).iter().all(is_written) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let logs = logs(cluster);
    let texts = logs.iter().filter(|(path, _)| is_of(path, "log"));
    texts.map(|(_, text)| text.matches("ERROR: ").count()).sum()
}

/// Neither a replay, nor a mismatch, nor a call in flight shows a result, whatever is logged of errors; and a
/// retry in the process that ran the call is no error.
#[tokio::test]
async fn no_retry_shows_a_result_in_any_log_and_one_that_the_process_has_seen_is_no_error() {
    let all = Options::new()
        .set("logging_collector", "on")
        .set("log_destination", "stderr,csvlog,jsonlog")
        .set("log_error_verbosity", "verbose")
        .set("log_parameter_max_length_on_error", "-1")
        .set("log_min_error_statement", "debug5")
        .set("log_min_messages", "notice");
    let cluster = Cluster::start(all).expect("a server");
    let shop = Shop::open_on(&cluster, 1).await;
    let keys: Vec<_> = (0..CALLS).map(|_| fresh_key()).collect();
    // A first run on a new connection raises because it has not prepared the statements.
    recite(&shop.pool, &fresh_key(), "none")
        .await
        .expect("fresh");
    let before = errors(&shop, &cluster).await;
    for key in &keys {
        recite(&shop.pool, key, SECRET).await.expect("fresh");
    }
    for key in &keys {
        let again = recite(&shop.pool, key, SECRET).await.expect("recorded");
        assert!(again.replayed());
        let refused = recite(&shop.pool, key, "x").await;
        refused.expect_err("it is another request");
    }
    let after = errors(&shop, &cluster).await;
    assert_eq!(after, before + 1, "in this process");
    let options = shop.database.options().clone();
    let other = shop.pool_by(1, options.options([("application_name", "other")]));
    recite(&other, &fresh_key(), "none").await.expect("fresh");
    let before = errors(&shop, &cluster).await;
    for key in &keys {
        let again = recite(&other, key, SECRET).await.expect("recorded");
        assert!(again.replayed());
    }
    let after = errors(&shop, &cluster).await;
    assert_eq!(after, before + 1 + CALLS, "in another process");
    let hex = SECRET.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let logs = logs(&cluster);
    for format in ["log", "csv", "json"] {
        let written: Vec<_> = logs
            .iter()
            .filter(|(path, _)| is_of(path, format))
            .collect();
        // PostgreSQL 14 writes no JSON.
        assert!(!written.is_empty() || format == "json", "{format}");
        assert!(
            written.iter().all(|(_, text)| text.contains("ID004")),
            "{format}"
        );
    }
    for (path, text) in logs {
        assert!(!text.contains(SECRET) && !text.contains(&hex), "{path}");
    }
}

/// A standby answers from an older state. A connection of the caller's own does not tell its server, so the key is
/// known from the primary.
#[tokio::test]
async fn a_standby_is_not_asked_for_a_record() {
    let primary = Cluster::start(Options::new()).expect("a server");
    let shop = Shop::open_on(&primary, 1).await;
    let standby = Cluster::standby_of(&primary).expect("a standby");
    let mut conn = shop.database.connect().await;
    let key = fresh_key();
    pay(&mut conn, &key, &CMD).await.expect("fresh");
    shop.observer()
        .await
        .until("(SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication)")
        .await;
    let mut replica = PgConnection::connect(&standby.url(shop.database.name()))
        .await
        .expect("it answers");
    let refused = pay(&mut replica, &key, &CMD).await;
    let refused = refused.expect_err("it is a standby").refusal();
    assert!(matches!(refused, Error::ReadOnly(_)), "{refused:?}");
}

#[tokio::test]
async fn a_record_that_is_not_committed_is_no_answer() {
    let shop = Shop::open(1).await;
    let (first, key) = (fresh_key(), fresh_key());
    for key in [&first, &key] {
        pay(&shop.pool, key, &CMD).await.expect("fresh");
    }
    let name = key.as_str();
    shop.run(&format!(
        "DELETE FROM idem_record WHERE key = '{name}'; DELETE FROM payment WHERE key = '{name}'"
    ))
    .await;
    let leaked = format!("BEGIN; {}", like(&first, &key));
    let mut connection = shop.pool.acquire().await.expect("a connection");
    let leak = connection.execute(sqlx::raw_sql(AssertSqlSafe(leaked)));
    leak.await.expect("it is left open");
    drop(connection);
    let refused = pay(&shop.pool, &key, &CMD).await;
    let refused = refused.expect_err("the connection is not ours").refusal();
    assert!(
        matches!(refused, Error::AlreadyInTransaction),
        "{refused:?}"
    );
    let paid = pay(&shop.pool, &key, &CMD)
        .await
        .expect("the pool is usable");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

/// Calls that come together ask whether the key is in flight, and do not take each other's question for an
/// attempt: one of them runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_calls_that_come_together_to_a_known_key_without_a_record_one_runs() {
    for fused in ["on", "off"] {
        let shop = Shop::open(8).await;
        let options = shop.database.options().clone();
        let pool = shop.pool_by(8, options.options([("idem.fused", fused)]));
        let key = fresh_key();
        for round in 0..100 {
            shop.run("TRUNCATE idem_record, payment").await;
            let mut calls = JoinSet::new();
            for _ in 0..8 {
                let (pool, key) = (pool.clone(), key.clone());
                calls.spawn(async move { pay(&pool, &key, &CMD).await });
            }
            let mut runs = 0;
            for answer in calls.join_all().await {
                match answer {
                    Ok(paid) => runs += u32::from(!paid.replayed()),
                    Err(PayError::Idempotency(Error::InFlight { .. })) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
            assert_eq!(runs, 1, "round {round}, fused: {fused}");
            shop.assert_one_effect(&key).await;
        }
    }
}
