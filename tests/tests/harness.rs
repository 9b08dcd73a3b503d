//! The properties of the test databases that every other test relies on.

use idem_tests::postgres::{Cluster, Database, Options};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection};

const TABLES: &str = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";

#[tokio::test]
async fn a_fresh_database_is_empty_and_apart_from_others() {
    let (one, two) = (Database::fresh().await, Database::fresh().await);
    sqlx::raw_sql("CREATE TABLE mine (id int)")
        .execute(&one.pool(1))
        .await
        .expect("the database can be written");
    let count = async |database: &Database| -> i64 {
        sqlx::query_scalar(TABLES)
            .fetch_one(&database.pool(1))
            .await
            .expect("the database can be read")
    };
    assert_eq!(count(&one).await, 1);
    assert_eq!(count(&two).await, 0);
}

#[tokio::test]
async fn a_database_is_gone_when_dropped_even_while_somebody_is_connected() {
    let (gone, left) = (Database::fresh().await, Database::fresh().await);
    let name = gone.name().to_owned();
    let open = gone.connect().await;
    drop(gone);
    let exists: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(&name)
            .fetch_one(&mut left.connect().await)
            .await
            .expect("the server answers");
    drop(open);
    assert!(!exists);
}

#[tokio::test]
async fn another_process_reaches_the_same_database_by_its_url() {
    let database = Database::fresh().await;
    let mut connection = PgConnection::connect(&database.url())
        .await
        .expect("a valid URL");
    let name: String = sqlx::query_scalar("SELECT current_database()::text")
        .fetch_one(&mut connection)
        .await
        .expect("the server answers");
    assert_eq!(name, database.name());
}

#[tokio::test]
async fn an_observer_sees_who_waits_for_whom() {
    let database = Database::fresh().await;
    let (mut holder, mut waiter) = (database.connect().await, database.connect().await);
    let pid = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut waiter)
        .await
        .expect("the server answers");
    sqlx::raw_sql("BEGIN; SELECT pg_advisory_xact_lock(1)")
        .execute(&mut holder)
        .await
        .expect("the lock is free");
    let waiting = tokio::spawn(async move {
        sqlx::raw_sql("SELECT pg_advisory_lock(1)")
            .execute(&mut waiter)
            .await
            .map(|_| waiter)
    });
    let mut observer = database.observer().await;
    observer.until_blocked_by_other(pid).await;
    observer.until_blocked(1).await;
    observer.until_waiting_for("advisory", 1).await;
    observer.until_idle_in_transaction(1).await;
    assert_eq!(observer.advisory_locks().await, 1);
    sqlx::raw_sql("ROLLBACK")
        .execute(&mut holder)
        .await
        .expect("the server answers");
    let waiter = waiting
        .await
        .expect("no panic")
        .expect("the lock is free now");
    observer.until_no_transaction().await;
    drop((holder, waiter));
    observer.until_gone(pid).await;
}

#[tokio::test]
async fn a_standby_follows_its_primary_and_refuses_writes_until_promoted() {
    let primary = Cluster::start(Options::new()).expect("a server");
    let pool = pool(&primary);
    sqlx::raw_sql("CREATE TABLE seen (id int)")
        .execute(&pool)
        .await
        .expect("a primary writes");
    let mut standby = Cluster::standby_of(&primary).expect("a standby");
    let mut replica = PgConnection::connect(&standby.url("postgres"))
        .await
        .expect("it answers");
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM seen")
        .fetch_one(&mut replica)
        .await
        .expect("a hot standby reads");
    assert_eq!(rows, 0);
    let write = sqlx::raw_sql("INSERT INTO seen VALUES (1)")
        .execute(&mut replica)
        .await;
    let refusal = write.expect_err("a standby does not write");
    let code = refusal.as_database_error().and_then(DatabaseError::code);
    assert_eq!(code.as_deref(), Some("25006"));
    standby.promote().expect("it becomes a primary");
    sqlx::raw_sql("INSERT INTO seen VALUES (1)")
        .execute(&mut replica)
        .await
        .expect("a primary writes");
}

#[tokio::test]
async fn a_durable_cluster_keeps_a_commit_through_a_crash() {
    let mut cluster = Cluster::start(Options::new().durable()).expect("a server");
    let database = Database::fresh_on(&cluster).await;
    sqlx::raw_sql("CREATE TABLE kept (id int)")
        .execute(&mut database.connect().await)
        .await
        .expect("the database can be written");
    cluster.stop_immediate().expect("a crash");
    cluster.resume().expect("recovery");
    sqlx::raw_sql("SELECT FROM kept")
        .execute(&mut database.connect().await)
        .await
        .expect("the table is still there");
}

#[tokio::test]
async fn a_sqlite_file_has_the_journal_asked_for_and_goes_with_its_owner() {
    for (journal, mode) in [(Journal::Wal, "wal"), (Journal::Rollback, "delete")] {
        let database = Sqlite::fresh(journal);
        let pool = database.pool(2);
        let actual: String = sqlx::query_scalar("PRAGMA journal_mode")
            .fetch_one(&pool)
            .await
            .expect("the file can be opened");
        assert_eq!(actual, mode);
        assert!(database.path().exists());
        pool.close().await;
        let dir = database.dir().to_owned();
        drop(database);
        assert!(!dir.exists());
    }
}

fn pool(cluster: &Cluster) -> sqlx::PgPool {
    PgPoolOptions::new()
        .connect_lazy(&cluster.url("postgres"))
        .expect("a cluster's URL can be parsed")
}
