//! Databases in memory.

use std::str::FromStr as _;
use std::time::Duration;

use idem_runtime::Error;
use idem_runtime::error::SchemaFault;
use idem_tests::patience::in_time;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use tokio::task::JoinSet;

use crate::payments::{PayError, count, create_tables, key, pay, refused};

fn pool(options: SqliteConnectOptions, connections: u32) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .connect_lazy_with(options)
}

#[tokio::test]
async fn a_pool_whose_connections_have_a_database_each_is_refused() {
    let private = SqliteConnectOptions::from_str("sqlite::memory:").expect("a URL");
    for options in [
        SqliteConnectOptions::new(),
        SqliteConnectOptions::new().filename(""),
        SqliteConnectOptions::new().filename("file::memory:"),
        private.shared_cache(false),
    ] {
        let pool = pool(options.clone(), 2);
        let error = refused(pay(&pool, &key("a"), 5).await);
        assert!(
            matches!(
                error,
                Error::Schema(SchemaFault::MemoryPool { connections: 2 })
            ),
            "{options:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_pool_of_one_connection_to_private_memory_works() {
    for name in [":memory:", "", "file::memory:"] {
        let pool = pool(SqliteConnectOptions::new().filename(name), 1);
        create_tables(&pool).await;
        let key = key("a");
        assert!(!pay(&pool, &key, 5).await.expect("paid").replayed());
        assert!(pay(&pool, &key, 5).await.expect("a replay").replayed());
        assert_eq!(count(&pool, &key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_duplicates_in_shared_memory_have_one_effect() {
    let options = SqliteConnectOptions::from_str("sqlite::memory:").expect("a URL");
    let pool = pool(options, 4);
    create_tables(&pool).await;
    let mut calls = JoinSet::new();
    for call in 0..60 {
        let pool = pool.clone();
        calls.spawn(async move {
            let key = key(&format!("a{}", call % 3));
            let paid = in_time("the key stays in flight", async {
                loop {
                    match pay(&pool, &key, 5).await {
                        Ok(paid) => break *paid,
                        Err(PayError::Idempotency(error)) if error.is_retryable() => {}
                        Err(PayError::Database(error)) if is_locked(&error) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            });
            let paid = paid.await;
            (key, paid)
        });
    }
    let answers = calls.join_all().await;
    for text in ["a0", "a1", "a2"] {
        let key = key(text);
        let mut results = answers.iter().filter(|(k, _)| *k == key).map(|(_, p)| p);
        let first = results.next().expect("20 answers");
        assert!(results.all(|paid| paid == first));
        assert_eq!(count(&pool, &key).await, (1, 1));
    }
}

/// `SQLITE_LOCKED` in a statement of the body: connections that share a cache do not wait for each
/// other's tables.
fn is_locked(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<u32>().ok())
        .is_some_and(|code| code & 0xFF == 6)
}
