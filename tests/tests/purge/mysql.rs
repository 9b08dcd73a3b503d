//! The worker on MySQL and MariaDB.

use std::time::Duration;

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, PurgeWorker, schema};
use idem_tests::mysql::Database;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, MySqlPool};
use tokio::sync::{mpsc, oneshot};

use super::{replays, to, until};

/// Creates a database with `expired` expired records, a live record, a claim, an old lease and an
/// old unknown outcome.
async fn database(expired: u32) -> (Database, MySqlConnection) {
    let database = Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    let columns = "created_at, expires_at, locked_until, session_id, attempt_id, attempt, status, \
                   fingerprint_version, codec, namespace, scope, `key`, operation, result";
    let statement = format!(
        "INSERT INTO idem_record ({columns}) \
         SELECT 0, seq, NULL, NULL, UNHEX(MD5(seq)), 1, 1, 1, 1, 'purge', '', CONCAT('k', seq), 'test', '1' \
           FROM seq_1_to_{}; \
         DELETE FROM idem_record WHERE expires_at > {expired}; \
         INSERT INTO idem_record ({columns}) VALUES \
           (0, 9000000000000000000, NULL, NULL, x'{id}', 1, 1, 1, 1, 'purge', '', 'live', 'test', '1'), \
           (0, 9223372036854775807, NULL, 7, x'{id}', 1, 0, 1, 1, 'purge', '', 'claim', '', NULL), \
           (0, 9223372036854775807, 0, NULL, x'{id}', 1, 3, 1, 1, 'purge', '', 'lease', 'test', NULL), \
           (0, 9223372036854775807, 0, NULL, x'{id}', 1, 4, 1, 1, 'purge', '', 'unknown', 'test', NULL)",
        expired.max(1),
        id = "00".repeat(16),
    );
    conn.execute(sqlx::raw_sql(AssertSqlSafe(statement)))
        .await
        .unwrap();
    (database, conn)
}

/// The number of records that [`database`] creates beside the expired ones.
const KEPT: i64 = 4;

async fn count(database: &Database) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap()
}

fn worker(pool: MySqlPool) -> PurgeWorker<sqlx::MySql> {
    PurgeWorker::new(pool).batch(10).pause(Duration::ZERO)
}

#[tokio::test]
async fn a_sweep_on_mysql_deletes_all_that_has_expired_in_batches_and_nothing_else() {
    for (expired, batches) in [(0, 0), (9, 1), (20, 2), (25, 3)] {
        let (database, _conn) = database(expired).await;
        let purged = worker(database.pool(1)).run_once().await.unwrap();
        assert_eq!(purged.rows, u64::from(expired));
        assert_eq!((purged.batches, purged.skipped), (batches, false));
        assert_eq!(count(&database).await, KEPT);
    }
}

#[tokio::test]
async fn a_sweep_on_mysql_passes_over_rows_that_others_have_locked() {
    let (database, mut conn) = database(25).await;
    conn.execute("BEGIN").await.unwrap();
    conn.execute("SELECT 1 FROM idem_record WHERE namespace = 'purge' AND scope = '' AND `key` = 'k3' FOR UPDATE")
        .await
        .unwrap();
    let purged = worker(database.pool(1)).run_once().await.unwrap();
    assert_eq!(purged.rows, 24);
    conn.execute("ROLLBACK").await.unwrap();
    let purged = worker(database.pool(1)).run_once().await.unwrap();
    assert_eq!((purged.rows, purged.skipped), (1, false));
    assert_eq!(count(&database).await, KEPT);
}

/// The batch locks neither the gaps beside its records nor those of a new key.
#[tokio::test]
async fn a_batch_under_way_on_mysql_is_in_no_other_keys_way_and_leads_alone() {
    let (database, mut conn) = database(15).await;
    let mut other = database.connect().await;
    schema::create_table_if_missing(&mut other, "second")
        .await
        .unwrap();
    // Each batch locks its rows and then waits for the row of another table.
    conn.execute(sqlx::raw_sql(
        "CREATE TABLE hold (id int PRIMARY KEY) ENGINE = InnoDB; INSERT INTO hold VALUES (1); \
         CREATE TRIGGER hold AFTER DELETE ON idem_record FOR EACH ROW UPDATE hold SET id = 1 WHERE id = 1; \
         BEGIN; SELECT 1 FROM hold WHERE id = 1 FOR UPDATE",
    ))
    .await
    .unwrap();
    let pool = database.pool(1);
    let leader = tokio::spawn(async move { worker(pool).run_once().await });
    database.observer().await.until_blocked(1).await;
    let second = worker(database.pool(1)).run_once().await.unwrap();
    assert_eq!((second.rows, second.skipped), (0, true));
    let elsewhere = worker(database.pool(1)).table("second").unwrap();
    assert!(!elsewhere.run_once().await.unwrap().skipped);
    // A record outside this batch replays, and an unused key is claimed.
    assert!(replays(&mut other, 12).await);
    other
        .execute(
            "SET STATEMENT innodb_lock_wait_timeout = 0 FOR INSERT INTO idem_record (created_at, expires_at, \
               attempt_id, attempt, status, fingerprint_version, codec, namespace, scope, `key`, operation, result) \
             SELECT 0, 9000000000000000000, attempt_id, 1, 1, 1, 1, 'purge', '', 'k11a', 'test', '1' FROM (SELECT x'00112233445566778899aabbccddeeff' AS attempt_id) AS one",
        )
        .await
        .unwrap();
    conn.execute("ROLLBACK").await.unwrap();
    let first = leader.await.unwrap().unwrap();
    assert_eq!((first.rows, first.batches), (15, 2));
    assert_eq!(count(&database).await, KEPT + 1);
}

#[tokio::test]
async fn a_worker_on_mysql_reports_a_missing_table_and_ends_when_told() {
    let database = Database::fresh().await;
    let error = worker(database.pool(1)).run_once().await.unwrap_err();
    assert!(
        matches!(error, Error::Schema(SchemaFault::TableMissing { .. })),
        "{error:?}"
    );
    let (reports, mut reported) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let purging = worker(database.pool(1))
        .interval(Duration::from_millis(1))
        .on_sweep(to(reports));
    let running = tokio::spawn(purging.run(async { drop(stopped.await) }));
    until(&mut reported, "does not exist").await;
    schema::create_if_missing(&mut database.connect().await)
        .await
        .unwrap();
    until(&mut reported, "0 rows").await;
    drop(stop);
    running.await.unwrap();
}

#[tokio::test]
async fn a_sweep_on_mysql_deletes_unknown_outcomes_only_after_the_time_that_it_was_given() {
    let (database, mut conn) = database(0).await;
    let worker = worker(database.pool(1));
    let worker = worker.unknown_retention(Duration::from_hours(1)).unwrap();
    for (ended, deleted) in [
        (
            "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
            0,
        ),
        ("0", 1),
    ] {
        let end = format!("UPDATE idem_record SET locked_until = {ended} WHERE status = 4");
        conn.execute(AssertSqlSafe(end)).await.unwrap();
        let purged = worker.run_once().await.unwrap();
        assert_eq!((purged.rows, purged.unknown), (deleted, deleted));
    }
    assert_eq!(count(&database).await, KEPT - 1);
    // The databases count in microseconds.
    for rounds_to_zero in [Duration::ZERO, Duration::from_nanos(999)] {
        let refused = PurgeWorker::new(database.pool(1)).unknown_retention(rounds_to_zero);
        assert!(refused.is_err());
    }
}
