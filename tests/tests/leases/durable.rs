//! A claim survives a crash under any session setting.

use std::str::FromStr as _;
use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::{Error, schema};
use idem_tests::postgres::{Cluster, Database, Options};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, Executor as _};

use crate::database::{LeaseDatabase, Postgres, Sqlite, mails};
use crate::desk::{Desk, Then, ada, fresh_key, send_once};

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_survives_a_crash_of_a_server_that_commits_asynchronously() {
    let options = Options::new()
        .durable()
        .set("synchronous_commit", "off")
        .set("wal_writer_delay", "10s");
    let mut cluster = Cluster::start(options).expect("a server");
    let database = Database::fresh_on(&cluster).await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.expect("made");
    // Flushes earlier writes, so that only the claim can be lost.
    sqlx::raw_sql("CHECKPOINT")
        .execute(&mut conn)
        .await
        .expect("an administrator");
    conn.close().await.expect("it answers");
    let options = PgConnectOptions::from_str(&database.url()).expect("a URL");
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .connect_lazy_with(options);
    let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
    let (there, by, through) = (desk.clone(), key.clone(), pool.clone());
    tokio::spawn(async move { send_once(&through, by, ada(), there).await });
    desk.reached().await;
    cluster.stop_immediate().expect("it runs");
    cluster.resume().expect("it starts again");
    let database = Postgres::of(database);
    assert_eq!(database.status(&key).await, Some(Status::InProgress));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_on_sqlite_is_flushed_and_leaves_the_connection_as_it_was() {
    let database = Sqlite::open().await;
    let options = database.database.options().clone();
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(options.synchronous(SqliteSynchronous::Off));
    let level = async || -> i64 {
        sqlx::query_scalar("PRAGMA synchronous")
            .fetch_one(&pool)
            .await
            .expect("a pragma")
    };
    let (key, desk) = (fresh_key(), Desk::new(&[]));
    let sent = send_once(&pool, key.clone(), ada(), desk.clone()).await;
    assert!(sent.is_ok());
    assert_eq!(level().await, 0);
    assert_eq!(database.status(&key).await, Some(Status::Completed));
}

/// Levels below FULL, which a lease raises, and the levels that it keeps.
const LEVELS: [SqliteSynchronous; 4] = [
    SqliteSynchronous::Off,
    SqliteSynchronous::Normal,
    SqliteSynchronous::Full,
    SqliteSynchronous::Extra,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_inside_a_transaction_begun_by_hand_is_refused_before_its_body_at_every_level() {
    for level in LEVELS {
        let database = Sqlite::open().await;
        let options = database.database.options().clone().synchronous(level);
        let mut conn = sqlx::SqliteConnection::connect_with(&options)
            .await
            .expect("a file");
        conn.execute("BEGIN").await.expect("begun");
        let store = mails();
        let mut bound = store.in_connection(&mut conn);
        let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
        let key = fresh_key();
        let request = serde_json::json!(1);
        let refused = bound.begin_leased(&key, "send", &request, lease).await;
        assert!(
            matches!(refused, Err(Error::AlreadyInTransaction)),
            "{level:?}: {refused:?}"
        );
        assert_eq!(database.status(&key).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_as_its_body_did_whatever_was_begun_by_hand_on_the_pools_connection() {
    for level in LEVELS {
        let database = Sqlite::open().await;
        let options = database.database.options().clone().synchronous(level);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options);
        let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
        let (through, there, by) = (pool.clone(), desk.clone(), key.clone());
        let run = tokio::spawn(async move { send_once(&through, by, ada(), there).await });
        desk.reached().await;
        pool.execute("BEGIN").await.expect("begun");
        desk.open();
        let sent = run.await.expect("no panic").expect("it is recorded");
        assert_eq!((sent.number, sent.replayed()), (1, false), "{level:?}");
        assert_eq!(database.status(&key).await, Some(Status::Completed));
    }
}
