//! What `schema::verify` refuses on SQLite.

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use serde_json::json;
use sqlx::sqlite::SqliteTransactionManager;
use sqlx::{AssertSqlSafe, Executor, SqliteConnection};
use sqlx_core::transaction::TransactionManager as _;

use crate::subject::{PAY, claim, key, store};

/// A database whose table is the migration with `from` written as `to`, and `then` run after it.
async fn changed(from: &str, to: &str, then: &str) -> (Sqlite, SqliteConnection) {
    let migration = schema::sqlite();
    assert!(migration.contains(from), "the migration has no `{from}`");
    let database = Sqlite::fresh(Journal::Wal);
    let mut conn = database.connect().await;
    let statements = format!("{};{then}", migration.replace(from, to));
    conn.execute(sqlx::raw_sql(AssertSqlSafe(statements)))
        .await
        .unwrap();
    (database, conn)
}

/// The fault found at start-up, which must also be the one found by a first claim.
async fn fault(from: &str, to: &str, then: &str) -> SchemaFault {
    let (_database, mut conn) = changed(from, to, then).await;
    let Err(Error::Schema(at_start)) = schema::verify(&mut conn).await else {
        panic!("found fit: {to} {then}")
    };
    SqliteTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let store = store();
    let mut bound = store.in_transaction(&mut conn).unwrap();
    match bound.begin(&key("k"), PAY, &json!(1)).await {
        Err(Error::Schema(at_claim)) => assert_eq!(at_claim, at_start),
        other => panic!("{other:?}"),
    }
    at_start
}

const KEY: &str = "PRIMARY KEY (namespace, scope, key),";

async fn expect_no_arbiter(from: &str, to: &str, then: &str) {
    let found = fault(from, to, then).await;
    assert!(
        matches!(found, SchemaFault::NoArbiter { .. }),
        "{to} {then}: {found:?}"
    );
}

#[tokio::test]
async fn the_migration_is_fit() {
    let (_database, mut conn) = changed("", "", "").await;
    schema::verify(&mut conn).await.unwrap();
}

#[tokio::test]
async fn a_missing_table_is_named() {
    let found = fault("", "", "DROP TABLE idem_record").await;
    let table = "idem_record".to_owned();
    assert_eq!(found, SchemaFault::TableMissing { table });
}

#[tokio::test]
async fn a_missing_column_is_a_fault_of_the_schema() {
    let then = "DROP VIEW idem_record_readable; ALTER TABLE idem_record RENAME COLUMN codec TO c";
    let table = "idem_record".to_owned();
    assert_eq!(fault("", "", then).await, SchemaFault::Columns { table });
}

#[tokio::test]
async fn without_a_unique_index_there_is_no_arbiter() {
    expect_no_arbiter(KEY, "", "").await;
    let then = "CREATE INDEX i ON idem_record (namespace, scope, key)";
    expect_no_arbiter(KEY, "", then).await;
}

#[tokio::test]
async fn an_index_on_more_or_fewer_columns_is_no_arbiter() {
    for columns in [
        "namespace, key",
        "namespace, scope, key, expires_at",
        "namespace, scope, lower(key)",
        "namespace, scope, operation",
    ] {
        let then = format!("CREATE UNIQUE INDEX i ON idem_record ({columns})");
        expect_no_arbiter(KEY, "", &then).await;
    }
}

#[tokio::test]
async fn a_partial_index_is_no_arbiter() {
    let then = "CREATE UNIQUE INDEX i ON idem_record (namespace, scope, key) WHERE status = 1";
    expect_no_arbiter(KEY, "", then).await;
}

#[tokio::test]
async fn a_key_column_that_may_be_null_is_refused() {
    let column = "scope               TEXT    NOT NULL";
    // Only a STRICT table, or one without rowids, makes the columns of its primary key NOT NULL by itself.
    let then = "DROP VIEW idem_record_readable; DROP TABLE idem_record";
    let lax = schema::sqlite()
        .replace(column, "scope TEXT")
        .replace(") STRICT", ")");
    match fault("", "", &format!("{then}; {lax}")).await {
        SchemaFault::Column { column, .. } => assert_eq!(column, "scope"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_key_column_of_a_numeric_affinity_is_refused() {
    let column = "key                 TEXT    NOT NULL";
    let then = "DROP VIEW idem_record_readable; DROP TABLE idem_record";
    let lax = schema::sqlite()
        .replace(column, "key NUMERIC NOT NULL")
        .replace(") STRICT", ")");
    match fault("", "", &format!("{then}; {lax}")).await {
        SchemaFault::Column { column, .. } => assert_eq!(column, "key"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_conflict_clause_that_overwrites_is_refused() {
    for clause in ["REPLACE", "IGNORE"] {
        let to = format!("PRIMARY KEY (namespace, scope, key) ON CONFLICT {clause},");
        expect_no_arbiter(KEY, &to, "").await;
    }
}

#[tokio::test]
async fn a_collation_under_which_different_keys_are_equal_is_refused() {
    for collation in ["NOCASE", "RTRIM"] {
        let column = "key                 TEXT    NOT NULL";
        let to = format!("key TEXT COLLATE {collation} NOT NULL");
        expect_no_arbiter(column, &to, "").await;
        let to = format!("PRIMARY KEY (namespace, scope, key COLLATE {collation}),");
        expect_no_arbiter(KEY, &to, "").await;
    }
}

#[tokio::test]
async fn a_temporary_table_is_refused() {
    let database = Sqlite::fresh(Journal::Wal);
    let mut conn = database.connect().await;
    let migration = schema::sqlite().split("CREATE INDEX").next().unwrap();
    let migration = migration.replace("CREATE TABLE", "CREATE TEMPORARY TABLE");
    conn.execute(sqlx::raw_sql(AssertSqlSafe(migration)))
        .await
        .unwrap();
    let error = schema::verify_table(&mut conn, "temp.idem_record")
        .await
        .unwrap_err();
    match error {
        Error::Schema(SchemaFault::NotPermanent { found, .. }) => assert_eq!(found, "temporary"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_trigger_that_swallows_the_record_is_an_error() {
    let (_database, mut conn) = changed(
        "",
        "",
        "CREATE TRIGGER swallow BEFORE INSERT ON idem_record BEGIN SELECT RAISE(IGNORE); END",
    )
    .await;
    let store = store();
    SqliteTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("lost")).await.unwrap_err();
    assert!(matches!(error, Error::RecordNotWritten), "{error:?}");
}
