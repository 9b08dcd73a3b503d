//! The worker on PostgreSQL.

use std::time::Duration;

use idem_runtime::error::{Field, SchemaFault};
use idem_runtime::store::Outcome;
use idem_runtime::{Error, PurgeWorker, schema};
use idem_tests::postgres::Database;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor, PgConnection, PgPool};
use tokio::sync::{mpsc, oneshot};

use super::{key, replays, store, to, until};

/// Creates a database with `expired` expired records, a live record, an old lease and an old
/// unknown outcome.
async fn database(expired: u32) -> (Database, PgConnection) {
    let database = Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    expire(&mut conn, 1, expired).await;
    conn.execute(
        "INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
           fingerprint_version, codec, namespace, scope, key, operation, result) \
         VALUES (now(), now() + interval '1 day', NULL, gen_random_uuid(), 1, 1, 1, 1, 'purge', '', 'live', 'test', '1'), \
           ('epoch', 'infinity', 'epoch', gen_random_uuid(), 1, 3, 1, 1, 'purge', '', 'lease', 'test', NULL), \
           ('epoch', 'infinity', 'epoch', gen_random_uuid(), 1, 4, 1, 1, 'purge', '', 'unknown', 'test', NULL)",
    )
    .await
    .unwrap();
    (database, conn)
}

/// The number of records that [`database`] creates beside the expired ones.
const KEPT: i64 = 3;

async fn expire(conn: &mut PgConnection, from: u32, to: u32) {
    let statement = format!(
        "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
           codec, namespace, scope, key, operation, result) \
         SELECT 'epoch', timestamptz 'epoch' + n * interval '1 second', gen_random_uuid(), 1, 1, 1, 1, \
           'purge', '', 'k' || n, 'test', '1' FROM generate_series({from}, {to}) AS n"
    );
    conn.execute(AssertSqlSafe(statement)).await.unwrap();
}

/// Makes each batch wait, with its rows locked, until the transaction of `conn` ends.
async fn hold_batches(conn: &mut PgConnection) {
    let hold = "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS \
                'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN OLD; END'; \
                CREATE TRIGGER hold AFTER DELETE ON idem_record FOR EACH ROW EXECUTE FUNCTION hold()";
    conn.execute(hold).await.unwrap();
    conn.execute("BEGIN; SELECT pg_advisory_xact_lock(7)")
        .await
        .unwrap();
}

async fn count(database: &Database) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap()
}

fn worker(pool: PgPool) -> PurgeWorker<sqlx::Postgres> {
    PurgeWorker::new(pool).batch(10).pause(Duration::ZERO)
}

#[tokio::test]
async fn a_sweep_deletes_all_that_has_expired_in_batches_and_nothing_else() {
    for (expired, batches) in [(0, 0), (9, 1), (20, 2), (25, 3)] {
        let (database, _conn) = database(expired).await;
        let purged = worker(database.pool(1)).run_once().await.unwrap();
        assert_eq!(purged.rows, u64::from(expired));
        assert_eq!((purged.batches, purged.skipped), (batches, false));
        assert_eq!(count(&database).await, KEPT);
    }
}

#[tokio::test]
async fn a_sweep_does_not_read_what_has_not_expired() {
    const LIVE: i64 = 5_000;
    let (database, mut conn) = database(25).await;
    let live = format!(
        "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
           codec, namespace, scope, key, operation, result) \
         SELECT now(), now() + interval '1 day', gen_random_uuid(), 1, 1, 1, 1, \
           'purge', '', 'live' || n, 'test', '1' FROM generate_series(1, {LIVE}) AS n"
    );
    conn.execute(AssertSqlSafe(live)).await.unwrap();
    conn.execute("ANALYZE idem_record").await.unwrap();
    let pool = database.pool(1);
    worker(pool.clone()).run_once().await.unwrap();
    // A session reports its statistics at the latest when it ends.
    pool.close().await;
    let mut observer = database.observer().await;
    let counts = "FROM pg_stat_user_tables WHERE relname = 'idem_record'";
    observer
        .until(&format!("(SELECT n_tup_del = 25 {counts})"))
        .await;
    let read: i64 = sqlx::query_scalar(AssertSqlSafe(format!(
        "SELECT seq_tup_read + idx_tup_fetch {counts}"
    )))
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert!(read < LIVE / 10, "{read} rows of {LIVE} live ones");
}

#[tokio::test]
async fn only_one_node_leads_and_the_others_leave_the_sweep_to_it() {
    let (database, mut conn) = database(25).await;
    hold_batches(&mut conn).await;
    let leader = tokio::spawn(worker_of(&database));
    database.observer().await.until_blocked(1).await;
    let second = worker(database.pool(1)).run_once().await.unwrap();
    assert_eq!((second.rows, second.skipped), (0, true));
    conn.execute("ROLLBACK").await.unwrap();
    let first = leader.await.unwrap().unwrap();
    assert_eq!((first.rows, first.batches), (25, 3));
    let third = worker(database.pool(1)).run_once().await.unwrap();
    assert_eq!((third.rows, third.skipped), (0, false));
}

fn worker_of(
    database: &Database,
) -> impl Future<Output = Result<idem_runtime::Purged, Error>> + Send + 'static {
    let pool = database.pool(1);
    async move { worker(pool).run_once().await }
}

#[tokio::test]
async fn two_tables_have_two_leaders() {
    let (database, mut conn) = database(5).await;
    schema::create_table_if_missing(&mut conn, "other")
        .await
        .unwrap();
    hold_batches(&mut conn).await;
    let leader = tokio::spawn(worker_of(&database));
    database.observer().await.until_blocked(1).await;
    let other = worker(database.pool(1)).table("other").unwrap();
    assert!(!other.run_once().await.unwrap().skipped);
    conn.execute("ROLLBACK").await.unwrap();
    assert_eq!(leader.await.unwrap().unwrap().rows, 5);
}

#[tokio::test]
async fn workers_at_once_delete_each_record_once() {
    let (database, _conn) = database(95).await;
    let workers: Vec<_> = (0..4).map(|_| tokio::spawn(worker_of(&database))).collect();
    let mut rows = 0;
    for worker in workers {
        rows += worker.await.unwrap().unwrap().rows;
    }
    assert_eq!(rows, 95);
    assert_eq!(count(&database).await, KEPT);
}

#[tokio::test]
async fn claims_go_on_while_a_batch_holds_its_rows() {
    let (database, mut conn) = database(5).await;
    hold_batches(&mut conn).await;
    let leader = tokio::spawn(worker_of(&database));
    database.observer().await.until_blocked(1).await;
    // An expired key replays from the row that the batch is about to delete.
    let mut caller = database.connect().await;
    assert!(replays(&mut caller, 1).await);
    // An unused key is claimed and recorded.
    let (store, pool) = (store(), database.pool(1));
    let mut tx = pool.begin().await.unwrap();
    let mut bound = store.in_transaction(&mut *tx).unwrap();
    let Ok(Outcome::Fresh(claim)) = bound.begin(&key(1000), "test", &json!(1)).await else {
        panic!("nobody has used it")
    };
    bound.commit(claim, &json!(1)).await.unwrap();
    tx.commit().await.unwrap();
    assert!(replays(&mut caller, 1000).await);
    conn.execute("ROLLBACK").await.unwrap();
    assert_eq!(leader.await.unwrap().unwrap().rows, 5);
    assert!(!replays(&mut caller, 1).await);
}

#[tokio::test]
async fn a_record_that_somebody_has_locked_is_skipped_and_not_waited_for() {
    let (database, mut conn) = database(5).await;
    conn.execute("BEGIN; SELECT FROM idem_record WHERE key = 'k3' FOR UPDATE")
        .await
        .unwrap();
    let worker = worker(database.pool(1));
    assert_eq!(worker.run_once().await.unwrap().rows, 4);
    conn.execute("ROLLBACK").await.unwrap();
    assert_eq!(worker.run_once().await.unwrap().rows, 1);
}

#[tokio::test]
async fn cancelled_in_a_batch_the_worker_stops_and_its_pool_is_good() {
    let (database, mut conn) = database(5).await;
    hold_batches(&mut conn).await;
    let (pool, (stop, stopped)) = (database.pool(1), oneshot::channel::<()>());
    let (reports, mut reported) = mpsc::unbounded_channel();
    let worker = worker(pool.clone()).on_sweep(to(reports));
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    let mut observer = database.observer().await;
    observer.until_blocked(1).await;
    drop(stop);
    running.await.unwrap();
    until(&mut reported, "0 rows").await;
    let alive: i32 = sqlx::query_scalar("SELECT 1")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(alive, 1);
    conn.execute("ROLLBACK").await.unwrap();
    observer.until_no_transaction().await;
    assert_eq!(count(&database).await, 5 + KEPT);
}

#[tokio::test]
async fn cancelled_between_two_batches_the_worker_reports_what_it_deleted() {
    let (database, _conn) = database(25).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let (reports, mut reported) = mpsc::unbounded_channel();
    let pool = database.pool(1);
    let worker = worker(pool.clone())
        .pause(Duration::from_hours(1))
        .on_sweep(to(reports));
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    let rest = format!("(SELECT count(*) FROM idem_record) = {}", 15 + KEPT);
    database.observer().await.until(&rest).await;
    // The worker has returned the pool's only connection, so its batch is counted.
    drop(pool.acquire().await.unwrap());
    drop(stop);
    running.await.unwrap();
    assert_eq!(reported.recv().await.unwrap(), "10 rows");
    assert_eq!(count(&database).await, 15 + KEPT);
}

#[tokio::test]
async fn cancelled_between_two_sweeps_the_worker_stops() {
    let (database, _conn) = database(5).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let (reports, mut reported) = mpsc::unbounded_channel();
    let worker = worker(database.pool(1)).on_sweep(to(reports));
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    until(&mut reported, "5 rows").await;
    drop(stop);
    running.await.unwrap();
}

#[tokio::test]
async fn cancelled_before_it_begins_the_worker_deletes_nothing() {
    let (database, _conn) = database(5).await;
    worker(database.pool(1)).run(async {}).await;
    assert_eq!(count(&database).await, 5 + KEPT);
}

#[tokio::test]
async fn an_error_is_reported_and_the_worker_goes_on() {
    let database = Database::fresh().await;
    let mut conn = database.connect().await;
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
    schema::create_if_missing(&mut conn).await.unwrap();
    until(&mut reported, "0 rows").await;
    // The next sweep starts after the interval.
    for round in [0, 10] {
        expire(&mut conn, round, round + 4).await;
        until(&mut reported, "5 rows").await;
    }
    drop(stop);
    running.await.unwrap();
}

#[tokio::test]
async fn a_table_that_needs_quoting_is_refused() {
    let database = Database::fresh().await;
    let refused = worker(database.pool(1))
        .table("a; DROP TABLE b")
        .unwrap_err();
    assert_eq!(refused.field(), &Field::Table);
}

#[tokio::test]
async fn a_sweep_on_postgres_deletes_unknown_outcomes_only_after_the_time_that_it_was_given() {
    let (database, mut conn) = database(0).await;
    let worker = worker(database.pool(1));
    let worker = worker.unknown_retention(Duration::from_hours(1)).unwrap();
    for (ended, deleted) in [("clock_timestamp()", 0), ("'epoch'", 1)] {
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
