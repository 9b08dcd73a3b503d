//! The retention of a record, and the clock that measures it.

use std::time::SystemTime;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use sqlx::sqlite::SqliteTransaction;

use crate::payments::{Books, JOURNALS, Paid, PayError, insert, key, pay, refused};

#[idempotent(
    namespace = "payments",
    operation = "pay",
    retention = "1d12h",
    expiry = "strict"
)]
async fn pay_strictly(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

/// Moves the times of every record back, so that its retention ended one second ago or ends in one
/// minute.
async fn age(books: &Books, reclaimable: bool) {
    let end = if reclaimable { -1_000_000 } else { 60_000_000 };
    sqlx::query(
        "UPDATE idem_record SET (created_at, expires_at) = \
         (SELECT now - (expires_at - created_at) + ?1, now + ?1 \
          FROM (SELECT CAST(unixepoch('now') AS INTEGER) * 1000000 AS now))",
    )
    .bind(end)
    .execute(&books.pool)
    .await
    .expect("the times are moved");
}

#[tokio::test]
async fn a_record_lives_for_its_retention_from_its_writing_by_the_databases_clock() {
    let books = Books::open(JOURNALS[0], 1).await;
    let now = "SELECT CAST(unixepoch('now') AS INTEGER) * 1000000";
    let before: i64 = sqlx::query_scalar(now)
        .fetch_one(&books.pool)
        .await
        .expect("a clock");
    pay(&books.pool, &key("a"), 5).await.expect("paid");
    pay_strictly(&books.pool, &key("b"), 5).await.expect("paid");
    let after: i64 = sqlx::query_scalar(now)
        .fetch_one(&books.pool)
        .await
        .expect("a clock");
    let hour = 3_600_000_000_i64;
    for (text, hours) in [("a", 24), ("b", 36)] {
        let (created, expires): (i64, i64) =
            sqlx::query_as("SELECT created_at, expires_at FROM idem_record WHERE key = ?1")
                .bind(text)
                .fetch_one(&books.pool)
                .await
                .expect("a record");
        assert_eq!(expires - created, hours * hour);
        assert!((before..after + 1_000_000).contains(&created));
    }
}

#[tokio::test]
async fn an_expired_record_replays_until_it_is_purged() {
    let books = Books::open(JOURNALS[0], 1).await;
    pay(&books.pool, &key("a"), 5).await.expect("paid");
    age(&books, true).await;
    assert!(
        pay(&books.pool, &key("a"), 5)
            .await
            .expect("a replay")
            .replayed()
    );
    let error = refused(pay(&books.pool, &key("a"), 6).await);
    assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
    assert_eq!(books.count(&key("a")).await, (1, 1));
}

#[tokio::test]
async fn an_expired_record_is_absent_under_strict_expiry_and_is_replaced() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let key = key("a");
        pay_strictly(&books.pool, &key, 5).await.expect("paid");
        age(&books, false).await;
        assert!(
            pay_strictly(&books.pool, &key, 5)
                .await
                .expect("a replay")
                .replayed()
        );
        age(&books, true).await;
        // Even a different request is accepted: the key is unused.
        let again = pay_strictly(&books.pool, &key, 6).await.expect("paid");
        assert!(!again.replayed());
        assert_eq!(books.count(&key).await, (2, 1));
        let attempt: i64 = sqlx::query_scalar("SELECT attempt FROM idem_record")
            .fetch_one(&books.pool)
            .await
            .expect("a record");
        assert_eq!(attempt, 2);
        assert!(
            pay_strictly(&books.pool, &key, 6)
                .await
                .expect("a replay")
                .replayed()
        );
    }
}

#[tokio::test]
async fn a_failed_run_on_an_expired_record_leaves_that_record() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    pay_strictly(&books.pool, &key, 5).await.expect("paid");
    age(&books, true).await;
    books.execute("ALTER TABLE payment RENAME TO away").await;
    let failed = pay_strictly(&books.pool, &key, 5).await;
    assert!(matches!(failed, Err(PayError::Database(_))));
    books.execute("ALTER TABLE away RENAME TO payment").await;
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test]
async fn a_replay_says_when_the_result_was_recorded() {
    let books = Books::open(JOURNALS[0], 1).await;
    let first = pay(&books.pool, &key("a"), 5).await.expect("paid");
    assert_eq!(first.recorded_at(), None);
    age(&books, true).await;
    let again = pay(&books.pool, &key("a"), 5).await.expect("a replay");
    let recorded = SystemTime::from(again.recorded_at().expect("a replay"));
    let created: i64 = sqlx::query_scalar("SELECT created_at FROM idem_record")
        .fetch_one(&books.pool)
        .await
        .expect("a record");
    let since = recorded
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after the epoch");
    assert_eq!(i64::try_from(since.as_micros()), Ok(created));
}
