//! SQLite without the fast check: only the database decides.
//!
//! The switch applies to the whole process, so these tests have their own binary.

use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey, fast_check, idempotent, schema};
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::sqlite::{SqlitePool, SqliteTransaction};
use tokio::task::JoinSet;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("the bank is out of reach")]
    OutOfReach,
}

#[idempotent(namespace = "payments", skip(fail))]
async fn pay(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    fail: bool,
) -> Result<i64, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (key) VALUES (?1) RETURNING id")
        .bind(key.as_str())
        .fetch_one(&mut **tx)
        .await?;
    if fail {
        return Err(PayError::OutOfReach);
    }
    Ok(id)
}

fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().expect("a good key").global()
}

async fn books(db: &Sqlite) -> SqlitePool {
    fast_check::set(false);
    let pool = db.pool(4);
    let mut conn = pool.acquire().await.expect("a connection");
    schema::create_if_missing(&mut *conn)
        .await
        .expect("the library's table");
    sqlx::raw_sql("CREATE TABLE payment (id INTEGER PRIMARY KEY, key TEXT)")
        .execute(&mut *conn)
        .await
        .expect("the business's table");
    drop(conn);
    pool
}

/// Calls until there is an answer. No call is refused as in flight, because there is no fast check.
async fn answer(pool: SqlitePool, call: usize) -> i64 {
    in_time("a call gets no answer", async {
        loop {
            // Every third attempt fails after its write, in every task.
            match pay(&pool, &key("a"), call.is_multiple_of(3)).await {
                Ok(paid) => return *paid,
                Err(PayError::OutOfReach | PayError::Idempotency(Error::Busy(_))) => {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_fast_check_duplicates_still_have_one_effect() {
    for journal in [Journal::Wal, Journal::Rollback] {
        let db = Sqlite::fresh(journal);
        let pool = books(&db).await;
        let mut calls = JoinSet::new();
        for call in 0..60 {
            calls.spawn(answer(pool.clone(), call));
        }
        let answers = calls.join_all().await;
        assert!(answers.iter().all(|id| *id == answers[0]));
        let effects: i64 = sqlx::query_scalar("SELECT count(*) FROM payment")
            .fetch_one(&pool)
            .await
            .expect("the table can be read");
        assert_eq!(effects, 1);
    }
}
