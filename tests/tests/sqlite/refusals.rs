//! Connections and tables on which no body may run.

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::sqlite::{SqlitePoolOptions, SqliteTransaction};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::payments::{Books, JOURNALS, Paid, PayError, count, insert, key, pay, pay_and, refused};

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_begun_by_hand_is_refused_and_left_alone() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (own, key) = (key("own"), key("a"));
    let mut conn = books.db.connect().await;
    let write = "BEGIN; INSERT INTO payment (key, cents) VALUES ('own', 1)";
    conn.execute(sqlx::raw_sql(write)).await.expect("written");
    let error = refused(pay(&mut conn, &key, 5).await);
    assert!(matches!(error, Error::AlreadyInTransaction), "{error:?}");
    conn.execute("COMMIT").await.expect("it is still open");
    assert_eq!(books.count(&own).await, (1, 0));
    assert_eq!(books.count(&key).await, (0, 0));
    assert!(!pay(&mut conn, &key, 5).await.expect("paid").replayed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_begun_by_hand_on_a_connection_of_the_pool_is_left_alone_too() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (own, key) = (key("own"), key("a"));
    let mut conn = books.pool.acquire().await.expect("a connection");
    let write = "BEGIN; INSERT INTO payment (key, cents) VALUES ('own', 1)";
    conn.execute(sqlx::raw_sql(write)).await.expect("written");
    let error = refused(pay(&mut conn, &key, 5).await);
    assert!(matches!(error, Error::AlreadyInTransaction), "{error:?}");
    conn.execute("COMMIT").await.expect("it is still open");
    drop(conn);
    assert_eq!(books.count(&own).await, (1, 0));
    assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_forgotten_on_a_pooled_connection_is_never_joined() {
    for by_hand in [true, false] {
        let books = Books::open(JOURNALS[0], 1).await;
        let key = key("a");
        let mut conn = books.pool.acquire().await.expect("a connection");
        if by_hand {
            conn.execute("BEGIN").await.expect("begun");
        } else {
            std::mem::forget(conn.begin().await.expect("a transaction"));
        }
        drop(conn);
        // A payment in that transaction would never be committed.
        if by_hand {
            let error = refused(pay(&books.pool, &key, 5).await);
            assert!(matches!(error, Error::AlreadyInTransaction), "{error:?}");
        }
        assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
        let other = books.db.pool(1);
        assert_eq!(count(&other, &key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_makes_its_connections_inside_a_transaction_is_refused() {
    let books = Books::open(JOURNALS[0], 1).await;
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .after_connect(|conn, _| {
            Box::pin(async move {
                std::mem::forget(conn.begin().await?);
                Ok(())
            })
        })
        .connect_lazy_with(books.db.options().clone());
    let error = refused(pay(&pool, &key("a"), 5).await);
    assert!(matches!(error, Error::AlreadyInTransaction), "{error:?}");
    assert_eq!(books.count(&key("a")).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_database_is_refused_before_the_body() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        pay(&books.pool, &key("old"), 5).await.expect("paid");
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(books.db.options().clone().read_only(true));
        let (key, mut started) = (key("a"), false);
        let call = pay_and(&pool, &key, 5, async |_| {
            started = true;
            Ok(())
        });
        let error = refused(call.await);
        assert!(matches!(error, Error::ReadOnly(_)), "{error:?}");
        assert!(!started);
        // The recorded result can be decoded.
        assert!(
            pay(&pool, &self::key("old"), 5)
                .await
                .expect("a replay")
                .replayed()
        );
    }
}

#[tokio::test]
async fn a_missing_table_is_told_with_the_remedy() {
    let db = Sqlite::fresh(Journal::Wal);
    let pool = db.pool(1);
    let mut tx = pool.begin().await.expect("a transaction");
    let in_the_callers = pay(&mut tx, &key("a"), 5).await;
    drop(tx);
    for result in [in_the_callers, pay(&pool, &key("a"), 5).await] {
        let error = refused(result);
        assert!(error.to_string().contains("migration"), "{error}");
        let Error::Schema(SchemaFault::TableMissing { table }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(table, "idem_record");
    }
}

#[tokio::test]
async fn a_table_that_cannot_arbitrate_is_refused_before_the_body() {
    let sound = schema::sqlite();
    let arbiter = "PRIMARY KEY (namespace, scope, key)";
    let column = "key                 TEXT    NOT NULL";
    for (with, and) in [
        ("UNIQUE (scope, key)", column),
        ("UNIQUE (namespace, scope, key, operation)", column),
        (
            "PRIMARY KEY (namespace, scope, key) ON CONFLICT REPLACE",
            column,
        ),
        (
            "PRIMARY KEY (namespace, scope, key) ON\n  CONFLICT REPLACE",
            column,
        ),
        ("UNIQUE (namespace, scope, key)", "key TEXT"),
        (arbiter, "key TEXT NOT NULL COLLATE NOCASE"),
    ] {
        assert!(sound.contains(arbiter) && sound.contains(column));
        let db = Sqlite::fresh(Journal::Wal);
        let pool = db.pool(1);
        let unsound = sound.replace(arbiter, with).replace(column, and);
        pool.execute(sqlx::raw_sql(AssertSqlSafe(unsound)))
            .await
            .expect(with);
        let refused = pay(&pool, &key("a"), 5).await;
        let expected = matches!(
            refused,
            Err(PayError::Idempotency(Error::Schema(
                SchemaFault::NoArbiter { .. } | SchemaFault::Column { .. }
            )))
        );
        assert!(expected, "{with}, {and}: {refused:?}");
    }
}

#[idempotent(namespace = "payments", table = "temp.idem_record")]
async fn pay_temporarily(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn a_temporary_table_is_refused() {
    let books = Books::open(JOURNALS[0], 1).await;
    let mut conn = books.db.connect().await;
    let migration = schema::sqlite()
        .replace("CREATE TABLE", "CREATE TEMP TABLE")
        .replace("CREATE VIEW", "CREATE TEMP VIEW");
    conn.execute(sqlx::raw_sql(AssertSqlSafe(migration)))
        .await
        .expect("made");
    let error = refused(pay_temporarily(&mut conn, &key("a"), 5).await);
    assert!(
        matches!(error, Error::Schema(SchemaFault::NotPermanent { .. })),
        "{error:?}"
    );
}
