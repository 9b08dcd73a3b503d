//! The tables that `schema::verify` refuses on SQLite.

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use serde_json::json;
use sqlx::sqlite::SqliteTransactionManager;
use sqlx::{AssertSqlSafe, Executor, SqliteConnection};
use sqlx_core::transaction::TransactionManager as _;

use crate::subject::{PAY, claim, key, store};

/// Creates a database from the migration with `from` replaced by `to`, and runs `then` after it.
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

/// Returns the fault found at start-up, and asserts that a first claim finds the same one.
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
    SqliteTransactionManager::rollback(&mut conn).await.unwrap();
    expect_mended(&mut conn, at_start.clone()).await;
    at_start
}

/// Asserts that the statement named by a fault repairs it, together with the migration if the fault
/// says so.
async fn expect_mended(conn: &mut SqliteConnection, mut fault: SchemaFault) {
    for _ in 0..8 {
        let Some(fix) = fault.fix().map(str::to_owned) else {
            return;
        };
        let line = fix.split(" (then").next().unwrap().to_owned();
        conn.execute(sqlx::raw_sql(AssertSqlSafe(line)))
            .await
            .unwrap_or_else(|error| panic!("{fix}: {error}"));
        if fix.contains("run the migration") {
            conn.execute("DROP VIEW IF EXISTS idem_record_readable")
                .await
                .unwrap();
            schema::create_if_missing(conn).await.unwrap();
        }
        match schema::verify(conn).await {
            Ok(_) => return,
            Err(Error::Schema(next)) => fault = next,
            Err(error) => panic!("{fix}: {error:?}"),
        }
    }
    panic!("{fault}");
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
    // Only a STRICT table, or one WITHOUT ROWID, makes the columns of its primary key NOT NULL by
    // itself.
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

/// Also one created after the table was verified.
#[tokio::test]
async fn a_trigger_that_swallows_the_record_is_an_error() {
    let (_database, mut conn) = changed("", "", "").await;
    let store = store();
    SqliteTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let trigger =
        "CREATE TRIGGER swallow BEFORE INSERT ON idem_record BEGIN SELECT RAISE(IGNORE); END";
    conn.execute(trigger).await.unwrap();
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("lost")).await.unwrap_err();
    assert!(matches!(error, Error::RecordNotWritten), "{error:?}");
}

/// Returns the table's definition with `from` replaced by `to`, and without STRICT.
fn lax(from: &str, to: &str) -> String {
    let migration = schema::sqlite();
    assert!(migration.contains(from), "the migration has no `{from}`");
    format!(
        "DROP VIEW idem_record_readable; DROP TABLE idem_record; {}",
        migration.replace(from, to).replace(") STRICT", ")")
    )
}

/// A record is looked up by the collation of the column, not by that of the index.
#[tokio::test]
async fn a_collation_under_which_different_keys_are_equal_is_refused_beside_a_bytewise_index() {
    for collation in ["NOCASE", "RTRIM", "\"nocase\""] {
        for column in ["namespace", "scope", "key", "operation"] {
            let padded = format!("{column:<19} TEXT    NOT NULL");
            let to = format!("{column} TEXT COLLATE {collation} NOT NULL");
            let index = "CREATE UNIQUE INDEX bytewise ON idem_record \
                 (namespace COLLATE BINARY, scope COLLATE binary, key COLLATE BINARY)";
            match fault(&padded, &to, index).await {
                SchemaFault::Column { column: found, .. } => assert_eq!(found, column),
                other => panic!("{column} {collation}: {other:?}"),
            }
        }
    }
    let note = "note TEXT COLLATE NOCASE, request             BLOB,";
    let (_database, mut conn) = changed("request             BLOB,", note, "").await;
    schema::verify(&mut conn).await.unwrap();
}

#[tokio::test]
async fn a_column_that_does_not_hold_what_is_written_is_refused() {
    for (column, from, to) in [
        (
            "operation",
            "operation           TEXT ",
            "operation NUMERIC ",
        ),
        (
            "created_at",
            "created_at          INTEGER",
            "created_at REAL",
        ),
        (
            "expires_at",
            "expires_at          INTEGER",
            "expires_at TEXT",
        ),
        ("result", "result              BLOB,", "result TEXT,"),
        (
            "request",
            "request             BLOB,",
            "request BLOB NOT NULL,",
        ),
        (
            "attempt_id",
            "attempt_id          BLOB ",
            "attempt_id TEXT ",
        ),
        (
            "extra",
            "request             BLOB,",
            "request BLOB, extra INTEGER NOT NULL,",
        ),
        (
            "codec",
            "codec               INTEGER NOT NULL",
            "codec INTEGER NOT NULL AS (1) STORED",
        ),
    ] {
        match fault("", "", &lax(from, to)).await {
            SchemaFault::Column { column: found, .. } => assert_eq!(found, column, "{to}"),
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_table_that_keeps_its_rows_otherwise_is_fit() {
    for (from, to) in [
        (") STRICT", ")"),
        (") STRICT", ") WITHOUT ROWID"),
        (") STRICT", ") STRICT, WITHOUT ROWID"),
        ("TABLE idem_record", "TABLE Idem_Record"),
        (
            "request             BLOB,",
            "request ANY, id INTEGER, half AS (substr(key, 1, 3)),",
        ),
        (
            KEY,
            "PRIMARY KEY (namespace, scope, key) ON CONFLICT ABORT,",
        ),
    ] {
        let to = to.replace("half AS", "half TEXT AS");
        let (_database, mut conn) = changed(from, &to, "").await;
        schema::verify(&mut conn).await.unwrap();
        let store = store();
        SqliteTransactionManager::begin(&mut conn, None)
            .await
            .unwrap();
        let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
        let mut bound = store.in_transaction(&mut conn).unwrap();
        bound.commit(claim, &json!("done")).await.unwrap();
        SqliteTransactionManager::commit(&mut conn).await.unwrap();
        conn.execute("UPDATE idem_record SET expires_at = 1")
            .await
            .unwrap();
        let mut bound = store.in_connection(&mut conn);
        assert_eq!(bound.purge_expired(10).await.unwrap(), 1, "{to}");
    }
}

#[tokio::test]
async fn columns_of_the_users_own_that_fill_themselves_are_none_of_our_business() {
    for (from, to) in [
        (
            "created_at          INTEGER NOT NULL,",
            "made INTEGER NOT NULL DEFAULT 0, half TEXT NOT NULL AS (substr(key, 1, 3)), created_at INTEGER NOT NULL,",
        ),
        (
            KEY,
            "id INTEGER NOT NULL PRIMARY KEY, UNIQUE (namespace, scope, key),",
        ),
    ] {
        let (_database, mut conn) = changed(from, to, "").await;
        schema::verify(&mut conn).await.unwrap();
    }
}

#[tokio::test]
async fn a_view_in_the_tables_place_is_refused() {
    let view = "DROP VIEW idem_record_readable; DROP INDEX idem_record_expires_at; \
         DROP INDEX idem_record_locked_until; ALTER TABLE idem_record RENAME TO t; \
         CREATE VIEW idem_record AS SELECT * FROM t";
    for triggers in [
        "",
        "; CREATE TRIGGER i INSTEAD OF INSERT ON idem_record BEGIN SELECT 1; END; \
         CREATE TRIGGER d INSTEAD OF DELETE ON idem_record BEGIN SELECT 1; END",
    ] {
        match fault("", "", &format!("{view}{triggers}")).await {
            SchemaFault::NotPermanent { found, .. } => assert_eq!(found, "not a table"),
            other => panic!("{triggers}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_trigger_that_runs_before_a_write_is_refused_and_one_after_it_is_not() {
    for event in ["INSERT", "UPDATE", "DELETE", "UPDATE OF result"] {
        for (kind, when) in [
            ("", "BEFORE"),
            ("TEMP", "BEFORE"),
            ("", ""),
            ("", "/* AFTER */"),
        ] {
            let trigger = format!(
                "CREATE {kind} TRIGGER pass {when} {event} ON idem_record BEGIN SELECT 1; END"
            );
            match fault("", "", &trigger).await {
                SchemaFault::Trigger { trigger, .. } => assert_eq!(trigger, "pass"),
                other => panic!("{trigger}: {other:?}"),
            }
        }
        let then = format!(
            "CREATE TABLE log (n PRIMARY KEY); CREATE TRIGGER pass AFTER {event} ON idem_record \
             BEGIN INSERT INTO log VALUES (1) ON CONFLICT (n) DO NOTHING; END"
        );
        let (_database, mut conn) = changed("", "", &then).await;
        schema::verify(&mut conn).await.unwrap();
    }
}
