//! What `schema::verify` refuses on PostgreSQL.

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, schema};
use idem_tests::postgres::Database;
use serde_json::json;
use sqlx::postgres::PgTransactionManager;
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use sqlx_core::transaction::TransactionManager as _;

use crate::subject::{PAY, claim, key, store};

/// A database with the table, changed by `statement`.
async fn changed(statement: &str) -> (Database, PgConnection) {
    let database = Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    if !statement.is_empty() {
        conn.execute(sqlx::raw_sql(AssertSqlSafe(statement.to_owned())))
            .await
            .unwrap();
    }
    (database, conn)
}

/// The fault found at start-up, which must also be the one found by a first claim.
async fn fault(statement: &str) -> SchemaFault {
    let (database, mut conn) = changed(statement).await;
    let Err(Error::Schema(at_start)) = schema::verify(&mut conn).await else {
        panic!("found fit: {statement}")
    };
    let mut conn = match at_start {
        // A temporary table is seen by its own session only.
        SchemaFault::NotPermanent { .. } => conn,
        _ => database.connect().await,
    };
    PgTransactionManager::begin(&mut conn, None).await.unwrap();
    let store = store();
    let mut bound = store.in_transaction(&mut conn).unwrap();
    match bound.begin(&key("k"), PAY, &json!(1)).await {
        Err(Error::Schema(at_claim)) => assert_eq!(at_claim, at_start, "{statement}"),
        other => panic!("{statement}: {other:?}"),
    }
    at_start
}

async fn expect_no_arbiter(statement: &str) {
    let found = fault(statement).await;
    assert!(
        matches!(found, SchemaFault::NoArbiter { .. }),
        "{statement}: {found:?}"
    );
}

#[tokio::test]
async fn the_migration_is_fit() {
    let (_database, mut conn) = changed("").await;
    schema::verify(&mut conn).await.unwrap();
}

#[tokio::test]
async fn a_missing_table_is_named() {
    let found = fault("DROP TABLE idem_record CASCADE").await;
    let table = "idem_record".to_owned();
    assert_eq!(found, SchemaFault::TableMissing { table });
}

#[tokio::test]
async fn a_missing_column_is_a_fault_of_the_schema() {
    let found = fault("ALTER TABLE idem_record DROP COLUMN failure CASCADE").await;
    let table = "idem_record".to_owned();
    assert_eq!(found, SchemaFault::Columns { table });
}

#[tokio::test]
async fn without_a_unique_index_there_is_no_arbiter() {
    expect_no_arbiter("ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey").await;
    expect_no_arbiter(
        "ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey;
         CREATE INDEX ON idem_record (namespace, scope, key)",
    )
    .await;
}

#[tokio::test]
async fn an_index_on_more_or_fewer_columns_is_no_arbiter() {
    for columns in [
        "namespace, key",
        "namespace, scope, key, expires_at",
        "namespace, scope, lower(key)",
        "namespace, scope, operation",
    ] {
        expect_no_arbiter(&format!(
            "ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey;
             CREATE UNIQUE INDEX ON idem_record ({columns})"
        ))
        .await;
    }
}

#[tokio::test]
async fn a_partial_index_is_no_arbiter() {
    expect_no_arbiter(
        "ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey;
         CREATE UNIQUE INDEX ON idem_record (namespace, scope, key) WHERE status = 1",
    )
    .await;
}

#[tokio::test]
async fn a_deferrable_constraint_is_no_arbiter() {
    expect_no_arbiter(
        "ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey;
         ALTER TABLE idem_record ADD PRIMARY KEY (namespace, scope, key) DEFERRABLE",
    )
    .await;
}

#[tokio::test]
async fn a_collation_under_which_different_keys_are_equal_is_refused() {
    expect_no_arbiter(
        "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         DROP VIEW idem_record_readable;
         ALTER TABLE idem_record ALTER COLUMN key TYPE text COLLATE caseless",
    )
    .await;
}

#[tokio::test]
async fn a_payload_column_that_is_no_bytes_is_refused() {
    let found = fault(
        "DROP VIEW idem_record_readable;
         ALTER TABLE idem_record ALTER COLUMN result TYPE jsonb USING NULL",
    )
    .await;
    match found {
        SchemaFault::Column { column, .. } => assert_eq!(column, "result"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_table_that_does_not_outlive_a_crash_or_a_session_is_refused() {
    for (statement, what) in [
        ("ALTER TABLE idem_record SET UNLOGGED", "unlogged"),
        (
            "CREATE TEMPORARY TABLE idem_record (LIKE public.idem_record INCLUDING ALL)",
            "temporary",
        ),
        (
            "ALTER TABLE idem_record RENAME TO t; CREATE VIEW idem_record AS SELECT * FROM t",
            "not a table",
        ),
    ] {
        match fault(statement).await {
            SchemaFault::NotPermanent { found, .. } => assert_eq!(found, what),
            other => panic!("{statement}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_trigger_that_swallows_the_record_is_an_error() {
    let (_database, mut conn) = changed(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER swallow BEFORE INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION swallow()",
    )
    .await;
    let store = store();
    PgTransactionManager::begin(&mut conn, None).await.unwrap();
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("lost")).await.unwrap_err();
    assert!(matches!(error, Error::RecordNotWritten), "{error:?}");
}
