//! Bodies that leave a statement unfinished: no later statement gets the wrong answer.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use sqlx::{Executor as _, SqliteConnection};

use crate::payments::{Books, JOURNALS, PayError, key, pay, pay_and};

/// Leaves rows unread, or drops a query before it is answered.
async fn leave(conn: &mut SqliteConnection, reads: bool) {
    let numbers = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000) \
                   SELECT n FROM n";
    let mut rows = conn.fetch(sqlx::query(numbers));
    let row = poll_fn(|context| match rows.as_mut().poll_next(context) {
        Poll::Pending if !reads => Poll::Ready(None),
        polled => polled,
    })
    .await;
    assert!(!reads || row.is_some_and(|row| row.is_ok()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_body_leaves_unread_is_no_fault_of_its_and_nobody_elses_answer() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        for (number, (reads, fails)) in [(true, false), (false, false), (true, true), (false, true)]
            .into_iter()
            .enumerate()
        {
            let key = key(&format!("{number}"));
            let paid = pay_and(&books.pool, &key, 5, async |tx| {
                leave(tx, reads).await;
                let mut dropped = pin!(tx.execute("UPDATE payment SET cents = cents"));
                poll_fn(|context| {
                    let _ = dropped.as_mut().poll(context);
                    Poll::Ready(())
                })
                .await;
                if fails {
                    Err(PayError::OutOfReach)
                } else {
                    Ok(())
                }
            });
            let paid = paid.await;
            assert_eq!(paid.is_err(), fails, "{paid:?}");
            for word in 0..5_i64 {
                let answer: i64 = sqlx::query_scalar("SELECT ?1")
                    .bind(word)
                    .fetch_one(&books.pool)
                    .await
                    .expect("the connection is in order");
                assert_eq!(answer, word);
            }
            let again = pay(&books.pool, &key, 5).await.expect("paid, or a replay");
            assert_eq!(again.replayed(), !fails);
            assert_eq!(books.count(&key).await, (1, 1));
        }
    }
}
