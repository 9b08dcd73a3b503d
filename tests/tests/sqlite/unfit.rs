//! Files and connections on which the protocol cannot work, even with a fit table.

use std::str::FromStr as _;

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteTransaction,
};

use crate::payments::{
    Books, JOURNALS, Paid, PayError, count, create_tables, insert, key, pay, refused,
};

fn pool(options: SqliteConnectOptions) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(options)
}

#[idempotent(namespace = "payments", table = "app.idem_record")]
async fn pay_beside(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn a_table_in_an_attached_file_is_refused_before_the_body() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        pay(&books.pool, &key("main"), 5).await.expect("paid");
        let mut conn = books.db.connect().await;
        sqlx::query("ATTACH ?1 AS app")
            .bind(books.db.dir().join("app.db").display().to_string())
            .execute(&mut conn)
            .await
            .expect("another file can be attached");
        schema::create_table_if_missing(&mut conn, "app.idem_record")
            .await
            .expect("made");
        for error in [
            schema::verify_table(&mut conn, "app.idem_record")
                .await
                .expect_err("unfit"),
            refused(pay_beside(&mut conn, &key("a"), 5).await),
        ] {
            assert!(
                matches!(error, Error::Schema(SchemaFault::Attached { .. })),
                "{error:?}"
            );
        }
        assert_eq!(books.count(&key("a")).await, (0, 0));
    }
}

#[tokio::test]
async fn a_journal_that_does_not_undo_what_is_half_done_is_refused_before_the_body() {
    for (mode, name) in [
        (SqliteJournalMode::Off, "off"),
        (SqliteJournalMode::Memory, "memory"),
    ] {
        let books = Books::open(JOURNALS[1], 1).await;
        // The table has been verified by now.
        pay(&books.pool, &key("first"), 5).await.expect("paid");
        let pool = pool(books.db.options().clone().journal_mode(mode));
        let mut tx = pool.begin().await.expect("a transaction");
        let in_the_callers = refused(pay(&mut tx, &key("a"), 5).await);
        tx.commit().await.expect("committed");
        let mut conn = pool.acquire().await.expect("a connection");
        let at_start = schema::verify(&mut *conn).await.expect_err("unfit");
        drop(conn);
        let on_the_pool = refused(pay(&pool, &key("a"), 5).await);
        for error in [in_the_callers, at_start, on_the_pool] {
            match error {
                Error::Schema(SchemaFault::JournalMode { found }) => assert_eq!(found, name),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(books.count(&key("a")).await, (0, 0));
    }
}

#[tokio::test]
async fn every_journal_that_is_kept_beside_the_file_is_fit() {
    for mode in [
        SqliteJournalMode::Delete,
        SqliteJournalMode::Truncate,
        SqliteJournalMode::Persist,
        SqliteJournalMode::Wal,
    ] {
        let books = Books::open(JOURNALS[1], 1).await;
        let pool = pool(books.db.options().clone().journal_mode(mode));
        pay(&pool, &key("a"), 5).await.expect("paid");
        assert_eq!(count(&pool, &key("a")).await, (1, 1));
    }
}

#[tokio::test]
async fn what_a_competitor_has_not_committed_is_never_replayed() {
    let options = SqliteConnectOptions::from_str("sqlite::memory:").expect("a URL");
    let competitors = pool(options.clone());
    create_tables(&competitors).await;
    let key = key("a");
    let mut competitor = competitors.begin().await.expect("a transaction");
    pay(&mut competitor, &key, 5).await.expect("paid");
    // A connection with a shared cache that reads uncommitted data sees that record.
    let dirty = pool(options.pragma("read_uncommitted", "1"));
    let error = refused(pay(&dirty, &key, 5).await);
    assert!(
        matches!(error, Error::Schema(SchemaFault::ReadUncommitted)),
        "{error:?}"
    );
    let mut conn = dirty.acquire().await.expect("a connection");
    let error = schema::verify(&mut *conn)
        .await
        .expect_err("at start-up too");
    assert!(
        matches!(error, Error::Schema(SchemaFault::ReadUncommitted)),
        "{error:?}"
    );
    drop(conn);
    competitor.rollback().await.expect("rolled back");
    assert_eq!(count(&competitors, &key).await, (0, 0));
}
