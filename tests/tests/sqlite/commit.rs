//! A COMMIT blocked by readers, and a COMMIT that is refused.

use std::time::Duration;

use idem_runtime::Error;
use idem_tests::patience::in_time;
use idem_tests::sqlite::Journal;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions, SqliteTransaction};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::payments::{Books, JOURNALS, key, pay, pay_and, refused};

/// Creates a pool of one connection with a short busy timeout.
fn hasty(books: &Books) -> SqlitePool {
    let options = books
        .db
        .options()
        .clone()
        .busy_timeout(Duration::from_millis(10));
    SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(options)
}

/// Reads, and holds the shared lock until the transaction ends.
async fn reading(conn: &mut SqliteConnection) -> SqliteTransaction<'_> {
    let mut reader = conn.begin().await.expect("a transaction");
    reader
        .fetch_all("SELECT * FROM payment")
        .await
        .expect("read");
    reader
}

/// Waits until a COMMIT waits for readers: then no new reader gets a lock.
async fn until_a_commit_waits(observer: &mut SqliteConnection) {
    in_time("no COMMIT waits", async {
        while observer.fetch_all("SELECT * FROM payment").await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn observer(books: &Books) -> SqliteConnection {
    let options = books.db.options().clone().busy_timeout(Duration::ZERO);
    SqliteConnection::connect_with(&options)
        .await
        .expect("the file can be opened")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_meets_a_reader_waits_until_the_reader_leaves() {
    let books = Books::open(Journal::Rollback, 1).await;
    let key = key("a");
    let (mut conn, mut observer) = (books.db.connect().await, observer(&books).await);
    let reader = reading(&mut conn).await;
    let (paid, ()) = tokio::join!(pay(&books.pool, &key, 5), async {
        until_a_commit_waits(&mut observer).await;
        reader.rollback().await.expect("the reader leaves");
    });
    assert!(!paid.expect("paid").replayed());
    assert_eq!(books.count(&key).await, (1, 1));
    assert!(
        pay(&books.pool, &key, 5)
            .await
            .expect("a replay")
            .replayed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_reader_never_leaves_is_rolled_back_and_busy() {
    let books = Books::open(Journal::Rollback, 1).await;
    let (pool, key) = (hasty(&books), key("a"));
    let mut conn = books.db.connect().await;
    let reader = reading(&mut conn).await;
    let error = refused(pay(&pool, &key, 5).await);
    assert!(matches!(error, Error::Busy(_)), "{error:?}");
    assert!(error.is_retryable());
    reader.rollback().await.expect("the reader leaves");
    assert_eq!(books.count(&key).await, (0, 0));
    assert!(!pay(&pool, &key, 5).await.expect("paid").replayed());
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_may_be_dropped_while_it_waits() {
    let books = Books::open(Journal::Rollback, 1).await;
    let key = key("a");
    let (mut conn, mut observer) = (books.db.connect().await, observer(&books).await);
    let reader = reading(&mut conn).await;
    tokio::select! {
        _ = pay(&books.pool, &key, 5) => unreachable!("the reader is still there"),
        () = until_a_commit_waits(&mut observer) => {}
    }
    reader.rollback().await.expect("the reader leaves");
    // That COMMIT may still succeed, or have ended.
    pay(&books.pool, &key, 5).await.expect("paid, or a replay");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_constraint_refused_at_commit_keeps_nothing() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        books
            .execute(
                "CREATE TABLE refund (payment INTEGER \
                 REFERENCES payment (id) DEFERRABLE INITIALLY DEFERRED)",
            )
            .await;
        let key = key("a");
        let call = pay_and(&books.pool, &key, 5, async |tx| {
            tx.execute("INSERT INTO refund VALUES (-1)").await?;
            Ok(())
        });
        let error = refused(call.await);
        assert!(matches!(error, Error::CommitFailed(_)), "{error:?}");
        assert!(!error.is_retryable());
        assert_eq!(books.count(&key).await, (0, 0));
        // The pool's only connection serves the next call.
        assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

/// A temporary table is dropped with its connection.
async fn mark_connection(pool: &SqlitePool) {
    pool.execute("CREATE TEMP TABLE mark (n)")
        .await
        .expect("a mark on the pool's only connection");
}

async fn assert_marked(pool: &SqlitePool) {
    let found = pool.fetch_all("SELECT * FROM temp.mark").await;
    found.expect("the connection is the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_commit_replaces_no_connection_and_a_retry_at_once_meets_no_competitor() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        books
            .execute(
                "CREATE TABLE refund (payment INTEGER \
                 REFERENCES payment (id) DEFERRABLE INITIALLY DEFERRED)",
            )
            .await;
        mark_connection(&books.pool).await;
        for number in 0..200 {
            let key = key(&format!("{number}"));
            let call = pay_and(&books.pool, &key, 5, async |tx| {
                tx.execute("INSERT INTO refund VALUES (-1)").await?;
                Ok(())
            });
            let error = refused(call.await);
            assert!(matches!(error, Error::CommitFailed(_)), "{error:?}");
            assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
        }
        assert_marked(&books.pool).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_stays_busy_replaces_no_connection() {
    let books = Books::open(Journal::Rollback, 1).await;
    let (pool, key) = (hasty(&books), key("a"));
    mark_connection(&pool).await;
    let mut conn = books.db.connect().await;
    for _ in 0..3 {
        let reader = reading(&mut conn).await;
        let error = refused(pay(&pool, &key, 5).await);
        assert!(matches!(error, Error::Busy(_)), "{error:?}");
        reader.rollback().await.expect("the reader leaves");
    }
    assert!(!pay(&pool, &key, 5).await.expect("paid").replayed());
    assert_marked(&pool).await;
}
