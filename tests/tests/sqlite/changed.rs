//! Tables and connections that change after a call of the same pool has found them fit.

use idem_runtime::Error;
use idem_runtime::error::SchemaFault;
use idem_tests::sqlite::Journal;
use sqlx::sqlite::SqliteTransaction;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::payments::{Books, count, create_tables, key, pay, pay_and, refused};

/// Pays once, so that the table is verified and each statement prepared; then executes `change` on
/// another connection or on the same.
async fn changed(journal: Journal, change: &'static str, on_another: bool) -> (Books, Error) {
    let books = Books::open(journal, 1).await;
    for text in ["first", "second"] {
        pay(&books.pool, &key(text), 5).await.expect(change);
    }
    if on_another {
        let mut conn = books.db.connect().await;
        conn.execute(sqlx::raw_sql(change)).await.expect(change);
    } else {
        books.execute(change).await;
    }
    let refusal = refused(pay(&books.pool, &key("a"), 5).await);
    assert_eq!(books.count(&key("a")).await, (0, 0), "{change}");
    (books, refusal)
}

const TRIGGER: &str = "CREATE TRIGGER spoil BEFORE INSERT ON idem_record \
    BEGIN SELECT raise(IGNORE); END";
const OWN_TRIGGER: &str = "CREATE TEMP TRIGGER spoil BEFORE INSERT ON main.idem_record \
    BEGIN SELECT raise(IGNORE); END";

#[tokio::test]
async fn a_table_that_is_spoilt_after_it_was_verified_is_refused_before_the_body() {
    for (change, on_another) in [(TRIGGER, true), (TRIGGER, false), (OWN_TRIGGER, false)] {
        let (books, refusal) = changed(Journal::Wal, change, on_another).await;
        assert!(
            matches!(refusal, Error::Schema(SchemaFault::Trigger { .. })),
            "{change}: {refusal:?}"
        );
        books.execute("DROP TRIGGER spoil").await;
        pay(&books.pool, &key("a"), 5).await.expect("mended");
        assert_eq!(books.count(&key("a")).await, (1, 1));
    }
}

/// A connection's own trigger that does no harm: the table is verified by each call.
#[tokio::test]
async fn a_trigger_of_the_connections_own_that_runs_after_is_no_hindrance() {
    let books = Books::open(Journal::Wal, 1).await;
    books
        .execute(
            "CREATE TEMP TABLE seen (key); CREATE TEMP TRIGGER see AFTER INSERT ON main.idem_record \
             BEGIN INSERT INTO seen VALUES (new.key); END",
        )
        .await;
    for text in ["a", "b"] {
        pay(&books.pool, &key(text), 5).await.expect("paid");
    }
    assert!(
        pay(&books.pool, &key("a"), 5)
            .await
            .expect("a replay")
            .replayed()
    );
}

#[tokio::test]
async fn a_table_made_anew_without_its_arbiter_is_refused_before_the_body() {
    let change = "ALTER TABLE idem_record RENAME TO old; \
        CREATE TABLE idem_record AS SELECT * FROM old";
    let (_, refusal) = changed(Journal::Wal, change, true).await;
    assert!(matches!(refusal, Error::Schema(_)), "{refusal:?}");
}

#[tokio::test]
async fn a_connection_whose_journal_undoes_nothing_any_more_is_refused_before_the_body() {
    for (change, name) in [
        ("PRAGMA journal_mode = OFF", "off"),
        ("PRAGMA journal_mode = MEMORY", "memory"),
    ] {
        let (_, refusal) = changed(Journal::Rollback, change, false).await;
        match refusal {
            Error::Schema(SchemaFault::JournalMode { found }) => assert_eq!(found, name),
            other => panic!("{other:?}"),
        }
    }
}

/// With a shared cache a connection may read what another has not committed, of a file too.
#[tokio::test]
async fn what_is_not_committed_in_a_file_with_a_shared_cache_is_never_replayed() {
    let books = Books::open(Journal::Rollback, 1).await;
    let options = books.db.options().clone().shared_cache(true);
    let pool_of = |options| {
        sqlx::sqlite::SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options)
    };
    let (competitors, dirty) = (
        pool_of(options.clone()),
        pool_of(options.pragma("read_uncommitted", "1")),
    );
    let key = key("a");
    let mut competitor = competitors.begin().await.expect("a transaction");
    pay(&mut competitor, &key, 5).await.expect("paid");
    let error = refused(pay(&dirty, &key, 5).await);
    assert!(
        matches!(error, Error::Schema(SchemaFault::ReadUncommitted)),
        "{error:?}"
    );
    competitor.rollback().await.expect("rolled back");
    assert_eq!(count(&competitors, &key).await, (0, 0));
}

#[tokio::test]
async fn a_body_that_leaves_a_savepoint_of_its_own_loses_nothing() {
    let books = Books::open(Journal::Wal, 1).await;
    let key = key("a");
    let call = pay_and(
        &books.pool,
        &key,
        5,
        async |tx: &mut SqliteTransaction<'_>| {
            tx.execute("SAVEPOINT idem_unit").await?;
            Ok(())
        },
    );
    call.await.expect("paid");
    assert_eq!(books.count(&key).await, (1, 1));
}

/// The name of the library's savepoint cannot be guessed.
#[tokio::test]
async fn a_body_that_commits_and_sets_a_savepoint_anew_is_told_that_its_transaction_ended() {
    let books = Books::open(Journal::Wal, 1).await;
    let key = key("a");
    let call = pay_and(
        &books.pool,
        &key,
        5,
        async |tx: &mut SqliteTransaction<'_>| {
            tx.execute("COMMIT").await?;
            tx.execute("BEGIN IMMEDIATE").await?;
            tx.execute("SAVEPOINT idem_unit").await?;
            Ok(())
        },
    );
    let error = refused(call.await);
    assert!(matches!(error, Error::TransactionEnded), "{error:?}");
}

/// A pool whose file has another's name for its table is asked for each by itself.
#[tokio::test]
async fn two_pools_with_the_same_changes_behind_them_are_verified_each() {
    let (fit, unfit) = (
        Books::open(Journal::Wal, 1).await,
        idem_tests::sqlite::Sqlite::fresh(Journal::Wal),
    );
    pay(&fit.pool, &key("a"), 5).await.expect("paid");
    let pool = unfit.pool(1);
    create_tables(&pool).await;
    let spoilt = format!("DROP VIEW idem_record_readable; {TRIGGER}");
    pool.execute(sqlx::raw_sql(AssertSqlSafe(spoilt)))
        .await
        .expect("spoilt");
    let refusal = refused(pay(&pool, &key("a"), 5).await);
    assert!(
        matches!(refusal, Error::Schema(SchemaFault::Trigger { .. })),
        "{refusal:?}"
    );
}
