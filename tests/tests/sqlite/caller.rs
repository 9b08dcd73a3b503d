//! Calls in the caller's own transaction.

use std::time::Duration;

use idem_runtime::Error;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{Connection as _, Executor as _};

use crate::payments::{Books, JOURNALS, PayError, count, insert, key, pay, pay_and, refused};

/// Connections without a busy timeout: a locked table is refused at once.
fn impatient(books: &Books) -> SqlitePool {
    let options = books.db.options().clone().busy_timeout(Duration::ZERO);
    SqlitePoolOptions::new().connect_lazy_with(options)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_transaction_takes_the_write_lock_before_it_looks() {
    for journal in JOURNALS {
        let books = Books::open(journal, 4).await;
        let (pool, key) = (impatient(&books), key("a"));
        let mut competitor = books.pool.begin().await.expect("a transaction");
        let paid = pay(&mut competitor, &key, 5).await.expect("paid");

        // If the look-up came first, this transaction would read a snapshot without the competing
        // record.
        let mut tx = pool.begin().await.expect("a transaction");
        let error = refused(pay(&mut tx, &key, 5).await);
        // A record in another open transaction is not visible; the only sign of it is that the
        // database is locked.
        assert!(matches!(error, Error::Busy(_)), "{error:?}");
        competitor.commit().await.expect("committed");
        let again = pay(&mut tx, &key, 5).await.expect("a replay");
        assert!(again.replayed());
        assert_eq!(*again, *paid);
        tx.commit().await.expect("committed");
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_does_not_start_without_the_write_lock() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let key = key("a");
        let mut holder = books.db.connect().await;
        let writer = holder.begin_with("BEGIN IMMEDIATE").await.expect("free");
        let pool = impatient(&books);
        let mut tx = pool.begin().await.expect("a transaction");
        let mut started = false;
        let call = pay_and(&mut tx, &key, 5, async |_| {
            started = true;
            Ok(())
        });
        let error = refused(call.await);
        assert!(matches!(error, Error::Busy(_)), "{error:?}");
        assert!(!started);
        writer.rollback().await.expect("rolled back");
        pay(&mut tx, &key, 5).await.expect("paid");
        tx.commit().await.expect("committed");
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_snapshot_is_refused_before_the_body() {
    let books = Books::open(JOURNALS[0], 2).await;
    let (key, other) = (key("a"), key("b"));
    let mut tx = books.pool.begin().await.expect("a transaction");
    tx.fetch_all("SELECT * FROM payment").await.expect("read");
    pay(&books.pool, &other, 5).await.expect("paid");

    let mut started = false;
    let call = pay_and(&mut tx, &key, 5, async |_| {
        started = true;
        Ok(())
    });
    let error = refused(call.await);
    assert!(matches!(error, Error::FreshTransactionNeeded), "{error:?}");
    assert!(error.is_retryable() && !started);
    tx.rollback().await.expect("rolled back");

    let mut tx = books.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, 5).await.expect("paid");
    tx.commit().await.expect("committed");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_body_leaves_the_callers_transaction_usable() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let (before, key, after) = (key("before"), key("a"), key("after"));
        let mut tx = books.pool.begin().await.expect("a transaction");
        insert(&mut tx, &before, 1).await.expect("written");
        let failed = pay_and(&mut tx, &key, 5, async |_| Err(PayError::OutOfReach)).await;
        assert!(matches!(failed, Err(PayError::OutOfReach)));
        insert(&mut tx, &after, 1).await.expect("written");
        tx.commit().await.expect("committed");
        assert_eq!(books.count(&before).await, (1, 0));
        assert_eq!(books.count(&key).await, (0, 0));
        assert_eq!(books.count(&after).await, (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn if_the_caller_rolls_back_nothing_has_happened() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let key = key("a");
        let mut tx = books.pool.begin().await.expect("a transaction");
        assert!(!pay(&mut tx, &key, 5).await.expect("paid").replayed());
        assert!(pay(&mut tx, &key, 5).await.expect("a replay").replayed());
        tx.rollback().await.expect("rolled back");
        assert_eq!(books.count(&key).await, (0, 0));
        assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_inside_a_transaction_of_sqlx_is_joined() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let mut conn = books.pool.acquire().await.expect("a connection");
    let mut tx = conn.begin().await.expect("a transaction");
    assert!(!pay(&mut *tx, &key, 5).await.expect("paid").replayed());
    tx.rollback().await.expect("rolled back");
    drop(conn);
    assert_eq!(books.count(&key).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_ends_the_callers_transaction_is_told_so() {
    for statement in ["COMMIT", "ROLLBACK", "COMMIT; BEGIN"] {
        let books = Books::open(JOURNALS[0], 1).await;
        let key = key("a");
        let mut tx = books.pool.begin().await.expect("a transaction");
        let call = pay_and(&mut tx, &key, 5, async |tx| {
            tx.execute(statement).await?;
            Ok(())
        });
        let error = refused(call.await);
        assert!(matches!(error, Error::TransactionEnded), "{error:?}");
        drop(tx);
        let (_, records) = books.count(&key).await;
        assert_eq!(records, 0, "{statement}");
        // However that transaction ended, the pool's only connection serves the next call of any
        // caller.
        let (next, other) = (self::key("b"), books.db.pool(1));
        assert!(!pay(&books.pool, &next, 5).await.expect("paid").replayed());
        assert_eq!(count(&other, &next).await, (1, 1), "{statement}");
    }
}
