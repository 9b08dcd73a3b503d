//! A call's future dropped at every one of its awaits.

use std::str::FromStr as _;

use idem_tests::cut::{CUTS, MANY, cut};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::payments::{Books, JOURNALS, count, create_tables, insert, key, pay};

/// Asserts that after a dropped call the key is unused or completed, and that a retry leaves
/// exactly one effect.
async fn one_effect_after_a_retry(books: &Books, text: &str) {
    let (effects, records) = books.count(&key(text)).await;
    assert!(effects == records && effects <= 1, "{effects}, {records}");
    pay(&books.pool, &key(text), 5)
        .await
        .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(books.count(&key(text)).await, (1, 1), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_a_pool_of_one_connection_may_be_dropped_anywhere() {
    for (journal, when) in JOURNALS
        .into_iter()
        .zip(CUTS)
        .chain([(JOURNALS[0], CUTS[1])])
    {
        let books = Books::open(journal, 1).await;
        for polls in 0.. {
            assert!(polls < MANY);
            let text = format!("{when:?}-{polls}");
            let ended = cut(pay(&books.pool, &key(&text), 5), polls, when).await;
            one_effect_after_a_retry(&books, &text).await;
            if let Some(result) = ended {
                assert!(!result.expect("paid").replayed());
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_memory_outlives_a_call_dropped_anywhere() {
    for options in [
        SqliteConnectOptions::new().filename(":memory:"),
        SqliteConnectOptions::from_str("sqlite::memory:").expect("a URL"),
    ] {
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options);
        create_tables(&pool).await;
        for when in CUTS {
            for polls in 0.. {
                assert!(polls < MANY);
                let key = key(&format!("{when:?}-{polls}"));
                let ended = cut(pay(&pool, &key, 5), polls, when).await;
                let (effects, records) = count(&pool, &key).await;
                assert!(effects == records && effects <= 1, "{effects}, {records}");
                pay(&pool, &key, 5).await.expect("paid or replayed");
                assert_eq!(count(&pool, &key).await, (1, 1), "{key:?}");
                if let Some(result) = ended {
                    assert!(!result.expect("paid").replayed());
                    break;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_forgotten_in_memory_is_rolled_back_and_the_database_stays() {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(SqliteConnectOptions::new());
    create_tables(&pool).await;
    for ended in [false, true] {
        let forgotten = key(&format!("forgotten-{ended}"));
        let mut conn = pool.acquire().await.expect("a connection");
        let mut tx = conn.begin().await.expect("a transaction");
        insert(&mut tx, &forgotten, 1).await.expect("written");
        if ended {
            tx.execute("ROLLBACK").await.expect("ended by hand");
        }
        std::mem::forget(tx);
        drop(conn);
        let key = key(&format!("next-{ended}"));
        assert!(!pay(&pool, &key, 5).await.expect("paid").replayed());
        assert_eq!(count(&pool, &key).await, (1, 1));
        assert_eq!(count(&pool, &forgotten).await, (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_may_be_dropped_anywhere() {
    let books = Books::open(JOURNALS[0], 1).await;
    pay(&books.pool, &key("a"), 5).await.expect("paid");
    for when in CUTS {
        for polls in 0.. {
            assert!(polls < MANY);
            let ended = cut(pay(&books.pool, &key("a"), 5), polls, when).await;
            one_effect_after_a_retry(&books, "a").await;
            if let Some(result) = ended {
                assert!(result.expect("a replay").replayed());
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_the_callers_connection_may_be_dropped_anywhere() {
    for when in CUTS {
        let books = Books::open(JOURNALS[0], 1).await;
        let mut conn = books.db.connect().await;
        for polls in 0.. {
            assert!(polls < MANY);
            let text = format!("{when:?}-{polls}");
            let ended = cut(pay(&mut conn, &key(&text), 5), polls, when).await;
            outside_any_transaction(&mut conn, &text).await;
            one_effect_after_a_retry(&books, &text).await;
            if let Some(result) = ended {
                assert!(!result.expect("paid").replayed());
                break;
            }
        }
    }
}

/// Asserts that the connection is as before the call: sqlx and SQLite agree that no transaction is
/// open.
async fn outside_any_transaction(conn: &mut SqliteConnection, text: &str) {
    // Runs the queued work of the dropped call first.
    conn.ping().await.expect("the connection lives");
    assert!(!conn.is_in_transaction(), "{text}");
    let tx = conn
        .begin_with("BEGIN IMMEDIATE")
        .await
        .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    tx.rollback().await.expect("rolled back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_the_callers_transaction_may_be_dropped_anywhere() {
    for when in CUTS {
        let books = Books::open(JOURNALS[0], 1).await;
        for polls in 0.. {
            assert!(polls < MANY);
            let text = format!("{when:?}-{polls}");
            let before = key(&format!("{text}-before"));
            let mut tx = books.pool.begin().await.expect("a transaction");
            insert(&mut tx, &before, 1).await.expect("written");
            let ended = cut(pay(&mut tx, &key(&text), 5), polls, when).await;
            assert!(tx.is_in_transaction(), "{text}");
            // The caller continues, and commits its own writes only, without a part of the call's.
            pay(&mut tx, &key(&format!("{text}-next")), 7)
                .await
                .unwrap_or_else(|error| panic!("{text}: {error:?}"));
            tx.commit().await.expect("committed");
            assert_eq!(books.count(&before).await, (1, 0), "{text}");
            assert_eq!(books.count(&key(&format!("{text}-next"))).await, (1, 1));
            one_effect_after_a_retry(&books, &text).await;
            if let Some(result) = ended {
                assert!(!result.expect("paid").replayed());
                break;
            }
        }
    }
}
