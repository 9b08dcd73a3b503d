//! The worker on SQLite.

use std::time::Duration;

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, PurgeWorker, schema};
use idem_tests::cut::{CUTS, MANY, cut};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Executor, SqlitePool};
use tokio::sync::{mpsc, oneshot};

use super::{replays, to, until};

const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Rollback];

/// Creates a database with `expired` expired records, a live record, an old lease and an old
/// unknown outcome.
async fn database(journal: Journal, expired: u32) -> Sqlite {
    let database = Sqlite::fresh(journal);
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    let statement = format!(
        "INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
           fingerprint_version, codec, namespace, scope, key, operation, result) \
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {expired}) \
         SELECT 0, n, NULL, randomblob(16), 1, 1, 1, 1, 'purge', '', 'k' || n, 'test', x'31' FROM n WHERE n <= {expired} \
         UNION ALL VALUES \
           (0, 9000000000000000000, NULL, randomblob(16), 1, 1, 1, 1, 'purge', '', 'live', 'test', x'31'), \
           (0, 9223372036854775807, 0, randomblob(16), 1, 3, 1, 1, 'purge', '', 'lease', 'test', NULL), \
           (0, 9223372036854775807, 0, randomblob(16), 1, 4, 1, 1, 'purge', '', 'unknown', 'test', NULL)"
    );
    conn.execute(AssertSqlSafe(statement)).await.unwrap();
    database
}

/// The number of records that [`database`] creates beside the expired ones.
const KEPT: i64 = 3;

async fn count(database: &Sqlite) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap()
}

fn worker(pool: SqlitePool) -> PurgeWorker<sqlx::Sqlite> {
    PurgeWorker::new(pool).batch(10).pause(Duration::ZERO)
}

#[tokio::test]
async fn a_sweep_deletes_all_that_has_expired_in_batches_and_nothing_else() {
    for journal in JOURNALS {
        for (expired, batches) in [(0, 0), (9, 1), (20, 2), (25, 3)] {
            let database = database(journal, expired).await;
            let purged = worker(database.pool(1)).run_once().await.unwrap();
            assert_eq!(purged.rows, u64::from(expired));
            assert_eq!((purged.batches, purged.skipped), (batches, false));
            assert_eq!(count(&database).await, KEPT);
        }
    }
}

#[tokio::test]
async fn workers_at_once_delete_each_record_once() {
    for journal in JOURNALS {
        let database = database(journal, 95).await;
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let pool = database.pool(1);
                tokio::spawn(async move { worker(pool).run_once().await })
            })
            .collect();
        let mut rows = 0;
        for worker in workers {
            rows += worker.await.unwrap().unwrap().rows;
        }
        assert_eq!(rows, 95);
        assert_eq!(count(&database).await, KEPT);
    }
}

#[tokio::test]
async fn a_sweep_gives_way_to_a_writer_and_replays_go_on() {
    for journal in JOURNALS {
        let database = database(journal, 5).await;
        let mut writer = database.connect().await;
        writer.execute("BEGIN IMMEDIATE").await.unwrap();
        let impatient = database.options().clone().busy_timeout(Duration::ZERO);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(impatient);
        let worker = worker(pool);
        let purged = worker.run_once().await.unwrap();
        assert_eq!((purged.rows, purged.skipped), (0, true));
        assert!(replays(&mut database.connect().await, 1).await);
        writer.execute("ROLLBACK").await.unwrap();
        let purged = worker.run_once().await.unwrap();
        assert_eq!((purged.rows, purged.skipped), (5, false));
    }
}

#[tokio::test]
async fn replays_go_on_while_a_purge_is_not_yet_committed() {
    for journal in JOURNALS {
        let database = database(journal, 5).await;
        let pool = database.pool(1);
        let mut tx = pool.begin().await.unwrap();
        let store = super::store();
        let mut bound = store.in_transaction(&mut *tx).unwrap();
        assert_eq!(bound.purge_expired(10).await.unwrap(), 5);
        assert!(replays(&mut database.connect().await, 1).await);
        tx.commit().await.unwrap();
        assert!(!replays(&mut database.connect().await, 1).await);
    }
}

#[tokio::test]
async fn cancelled_between_two_sweeps_the_worker_stops_and_its_pool_is_good() {
    let database = database(Journal::Wal, 5).await;
    let (pool, (stop, stopped)) = (database.pool(1), oneshot::channel::<()>());
    let (reports, mut reported) = mpsc::unbounded_channel();
    let worker = worker(pool.clone()).on_sweep(to(reports));
    let running = tokio::spawn(worker.run(stopped));
    until(&mut reported, "5 rows").await;
    drop(stop);
    running.await.unwrap();
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, KEPT);
}

#[tokio::test]
async fn an_error_is_reported_and_the_worker_goes_on() {
    let database = Sqlite::fresh(Journal::Wal);
    let (stop, stopped) = oneshot::channel::<()>();
    let (reports, mut reported) = mpsc::unbounded_channel();
    let worker = worker(database.pool(1))
        .interval(Duration::from_millis(1))
        .on_sweep(to(reports));
    let error = worker.run_once().await.unwrap_err();
    assert!(
        matches!(error, Error::Schema(SchemaFault::TableMissing { .. })),
        "{error:?}"
    );
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    until(&mut reported, "does not exist").await;
    schema::create_if_missing(&mut database.connect().await)
        .await
        .unwrap();
    until(&mut reported, "0 rows").await;
    drop(stop);
    running.await.unwrap();
}

#[tokio::test]
async fn a_database_in_memory_outlives_a_sweep_that_fails_or_is_dropped() {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(SqliteConnectOptions::new().filename(":memory:"));
    pool.execute("CREATE TABLE of_the_business (n)")
        .await
        .unwrap();
    let is_there = async || {
        sqlx::query_scalar::<_, i64>("SELECT count(*) FROM of_the_business")
            .fetch_one(&pool)
            .await
            .is_ok()
    };
    let worker = worker(pool.clone());
    let error = worker.run_once().await.unwrap_err();
    assert!(
        matches!(error, Error::Schema(SchemaFault::TableMissing { .. })),
        "{error:?}"
    );
    assert!(is_there().await);
    schema::create_if_missing(&mut *pool.acquire().await.unwrap())
        .await
        .unwrap();
    for when in CUTS {
        for polls in 0.. {
            assert!(polls < MANY);
            let ended = cut(worker.run_once(), polls, when).await;
            assert!(is_there().await, "{when:?}-{polls}");
            if let Some(purged) = ended {
                assert!(!purged.unwrap().skipped);
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_sweep_on_sqlite_deletes_unknown_outcomes_only_after_the_time_that_it_was_given() {
    let database = database(Journal::Wal, 0).await;
    let mut conn = database.connect().await;
    let worker = worker(database.pool(1));
    let worker = worker.unknown_retention(Duration::from_hours(1)).unwrap();
    for (ended, deleted) in [
        ("CAST(strftime('%s', 'now') AS INTEGER) * 1000000", 0),
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
