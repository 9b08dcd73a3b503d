//! A COMMIT that the server refuses: the call reports the rollback, and the connection stays
//! usable.

use idem_runtime::Error;
use idem_tests::postgres::payments::{Pay, PayError, pay, pay_then};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use sqlx::{PgConnection, PgPool};

const CMD: Pay = Pay { amount: 1 };
const REFUSALS: u32 = 200;

/// A deferred constraint that is checked at COMMIT, and one that fails there as a serializable
/// transaction may.
const DEFERRED: &str = "CREATE TABLE slot (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); \
     INSERT INTO slot VALUES (1); CREATE TABLE skew (n int); \
     CREATE FUNCTION skew() RETURNS trigger LANGUAGE plpgsql AS \
       'BEGIN RAISE EXCEPTION USING ERRCODE = ''40001''; END'; \
     CREATE CONSTRAINT TRIGGER skew AFTER INSERT ON skew DEFERRABLE INITIALLY DEFERRED \
       FOR EACH ROW EXECUTE FUNCTION skew()";

const BODIES: [&str; 2] = ["INSERT INTO slot VALUES (1)", "INSERT INTO skew VALUES (1)"];

fn assert_refused<T: std::fmt::Debug>(answer: Result<T, PayError>, sql: &str) {
    let refusal = answer.map(|_| ()).expect_err(sql).refusal();
    let expected = match refusal {
        Error::CommitFailed(_) => sql == BODIES[0],
        Error::TransactionLost(_) => sql == BODIES[1],
        _ => false,
    };
    assert!(expected, "{sql}: {refusal:?}");
}

async fn pid(connection: &mut PgConnection) -> i32 {
    sqlx::query_scalar("SELECT pg_backend_pid()")
        .persistent(false)
        .fetch_one(connection)
        .await
        .expect("the server answers")
}

/// Returns the sessions of all connections of the pool.
async fn pids(pool: &PgPool) -> Vec<i32> {
    let mut all = Vec::new();
    for _ in 0..pool.options().get_max_connections() {
        all.push(pool.acquire().await.expect("a connection"));
    }
    let mut pids = Vec::new();
    for connection in &mut all {
        pids.push(pid(connection).await);
    }
    pids.sort_unstable();
    pids
}

#[tokio::test]
async fn a_refused_commit_replaces_no_connection_and_a_retry_at_once_meets_no_competitor() {
    for isolation in ["read committed", "serializable"] {
        let shop = Shop::open(1).await;
        shop.run(DEFERRED).await;
        let pool = shop.pool_at(isolation, 4);
        let before = pids(&pool).await;
        for number in 0..REFUSALS {
            let sql = BODIES[usize::from(number % 2 == 1)];
            let key = fresh_key();
            assert_refused(pay_then(&pool, &key, &CMD, sql).await, sql);
            let paid = pay(&pool, &key, &CMD).await;
            assert!(!paid.expect("nobody has the key").replayed());
        }
        assert_eq!(pids(&pool).await, before, "{isolation}");
        let payments: i64 = sqlx::query_scalar("SELECT count(*) FROM payment")
            .fetch_one(&pool)
            .await
            .expect("the server answers");
        assert_eq!(payments, i64::from(REFUSALS));
    }
}

#[tokio::test]
async fn refused_commits_of_many_calls_at_once_replace_no_connection() {
    let shop = Shop::open(1).await;
    shop.run(DEFERRED).await;
    let pool = shop.pool_at("serializable", 4);
    let before = pids(&pool).await;
    let calls = (0..REFUSALS).map(|number| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let sql = BODIES[usize::from(number % 2 == 1)];
            let key = fresh_key();
            let refused = pay_then(&pool, &key, &CMD, sql).await;
            refused.map(|_| ()).expect_err(sql).refusal();
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("no panic");
    }
    assert_eq!(pids(&pool).await, before);
}

#[tokio::test]
async fn a_callers_connection_goes_on_after_a_refused_commit() {
    let shop = Shop::open(1).await;
    shop.run(DEFERRED).await;
    let mut connection = shop.database.connect().await;
    let mut pooled = shop.pool.acquire().await.expect("a connection");
    let before = (pid(&mut connection).await, pid(&mut pooled).await);
    for sql in BODIES {
        for _ in 0..3 {
            let (key, other) = (fresh_key(), fresh_key());
            assert_refused(pay_then(&mut connection, &key, &CMD, sql).await, sql);
            assert_refused(pay_then(&mut pooled, &other, &CMD, sql).await, sql);
            // The connection is outside any transaction at once.
            shop.observer().await.until_no_transaction().await;
            pay(&mut connection, &key, &CMD).await.expect("fresh");
            pay(&mut pooled, &other, &CMD).await.expect("fresh");
            shop.assert_one_effect(&key).await;
            shop.assert_one_effect(&other).await;
        }
    }
    assert_eq!((pid(&mut connection).await, pid(&mut pooled).await), before);
}

/// A ROLLBACK outside a transaction would cause a server warning.
#[tokio::test]
async fn a_refused_commit_makes_the_server_warn_of_nothing() {
    let cluster = Cluster::start(Options::new().set("lc_messages", "C")).expect("a server");
    let shop = Shop::open_on(&cluster, 1).await;
    shop.run(DEFERRED).await;
    let mut connection = shop.database.connect().await;
    for sql in BODIES {
        for _ in 0..3 {
            assert_refused(pay_then(&shop.pool, &fresh_key(), &CMD, sql).await, sql);
            assert_refused(
                pay_then(&mut connection, &fresh_key(), &CMD, sql).await,
                sql,
            );
        }
    }
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
    pay(&mut connection, &fresh_key(), &CMD)
        .await
        .expect("fresh");
    let log: String = sqlx::query_scalar(
        "SELECT pg_read_file(current_setting('data_directory') || '/../server.log')",
    )
    .fetch_one(&mut connection)
    .await
    .expect("a superuser reads it");
    assert!(log.contains("ERROR"), "the refusals are logged: {log}");
    assert!(!log.contains("WARNING"), "{log}");
}
