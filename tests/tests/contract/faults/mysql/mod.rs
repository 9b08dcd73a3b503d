//! The tables that `schema::verify` refuses on MySQL and MariaDB.

mod elsewhere;

use idem_runtime::error::{SchemaFault, SchemaFinding};
use idem_runtime::{Error, schema};
use idem_tests::mysql::Database;
use serde_json::json;
use sqlx::mysql::MySqlTransactionManager;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection};
use sqlx_core::transaction::TransactionManager as _;

use crate::subject::{PAY, claim, key, store};

/// Creates a database with the table, changed by `statement`.
async fn changed(statement: &str) -> (Database, MySqlConnection) {
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

/// Returns the fault found at start-up, and asserts that a first claim finds the same one.
async fn fault(statement: &str) -> SchemaFault {
    let (_database, mut conn) = changed(statement).await;
    let Err(Error::Schema(at_start)) = schema::verify(&mut conn).await else {
        panic!("found fit: {statement}")
    };
    MySqlTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let store = store();
    let mut bound = store.in_transaction(&mut conn).unwrap();
    match bound.begin(&key("k"), PAY, &json!(1)).await {
        Err(Error::Schema(at_claim)) => assert_eq!(at_claim, at_start, "{statement}"),
        other => panic!("{statement}: {other:?}"),
    }
    MySqlTransactionManager::rollback(&mut conn).await.unwrap();
    expect_mended(&mut conn, at_start.clone(), statement).await;
    at_start
}

/// Asserts that the statement named by a fault repairs it; a further fault may follow.
async fn expect_mended(conn: &mut MySqlConnection, mut fault: SchemaFault, statement: &str) {
    for _ in 0..8 {
        let Some(line) = fault.fix().filter(|fix| !fix.starts_with("name ")) else {
            return;
        };
        let line = line.to_owned();
        conn.execute(sqlx::raw_sql(AssertSqlSafe(line.clone())))
            .await
            .unwrap_or_else(|error| panic!("{statement}: {line}: {error}"));
        match schema::verify(conn).await {
            Ok(_) => return,
            Err(Error::Schema(next)) => fault = next,
            Err(error) => panic!("{statement}: {line}: {error:?}"),
        }
    }
    panic!("{statement}: {fault}");
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
async fn the_migrations_view_shows_a_record_to_operators() {
    let (_database, mut conn) = changed("").await;
    let store = store();
    MySqlTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let claim = claim(&store, &mut conn, &key("k \u{e9}"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!("done")).await.unwrap();
    let shown: (String, String, String, i64) = sqlx::query_as(
        "SELECT `key`, status, result, TIMESTAMPDIFF(HOUR, created_at, expires_at) \
         FROM idem_record_readable",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    let expected = ("k \u{e9}", "completed", "\"done\"", 24);
    assert_eq!((&*shown.0, &*shown.1, &*shown.2, shown.3), expected);
}

#[tokio::test]
async fn a_missing_table_is_named() {
    let found = fault("DROP TABLE idem_record").await;
    let table = "idem_record".to_owned();
    assert_eq!(found, SchemaFault::TableMissing { table });
}

#[tokio::test]
async fn a_missing_column_is_a_fault_of_the_schema() {
    let found = fault("ALTER TABLE idem_record CHANGE codec c SMALLINT NOT NULL").await;
    let table = "idem_record".to_owned();
    assert_eq!(found, SchemaFault::Columns { table });
}

#[tokio::test]
async fn without_the_primary_key_there_is_no_arbiter() {
    for statement in [
        "ALTER TABLE idem_record DROP PRIMARY KEY",
        "ALTER TABLE idem_record DROP PRIMARY KEY, ADD KEY (namespace, scope, `key`)",
        // A session may disable its checks.
        "ALTER TABLE idem_record DROP PRIMARY KEY, ADD COLUMN id BIGINT AUTO_INCREMENT PRIMARY KEY, \
         ADD UNIQUE (namespace, scope, `key`)",
    ] {
        expect_no_arbiter(statement).await;
    }
}

#[tokio::test]
async fn a_key_on_more_or_fewer_columns_or_a_part_of_one_is_no_arbiter() {
    for columns in [
        "namespace, `key`",
        "namespace, scope, `key`, expires_at",
        "namespace, scope, `key`(16)",
        "namespace, scope, operation",
    ] {
        expect_no_arbiter(&format!(
            "ALTER TABLE idem_record DROP PRIMARY KEY, ADD PRIMARY KEY ({columns})"
        ))
        .await;
    }
}

#[tokio::test]
async fn a_column_of_another_type_is_refused() {
    for (column, kind) in [
        (
            "key",
            "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
        ),
        ("key", "VARBINARY(255) NOT NULL"),
        ("scope", "BINARY(255) NOT NULL"),
        ("result", "JSON"),
        ("result", "BLOB"),
        ("attempt_id", "VARBINARY(16) NOT NULL"),
    ] {
        let statement = format!("ALTER TABLE idem_record MODIFY `{column}` {kind}");
        match fault(&statement).await {
            SchemaFault::Column { column: found, .. } => assert_eq!(found, column, "{kind}"),
            other => panic!("{statement}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_table_of_an_engine_without_row_locks_is_refused() {
    for engine in ["MyISAM", "Aria"] {
        // Their index keys have a lower limit.
        let statement = format!(
            "ALTER TABLE idem_record MODIFY scope VARBINARY(9) NOT NULL, \
             MODIFY `key` VARBINARY(9) NOT NULL, ENGINE = {engine}, ROW_FORMAT = DEFAULT"
        );
        let table = "idem_record".to_owned();
        assert_eq!(
            fault(&statement).await,
            SchemaFault::NotTransactional { table }
        );
    }
}

#[tokio::test]
async fn a_table_that_is_not_permanent_or_not_ordinary_is_refused() {
    for (statement, what) in [
        (
            "CREATE TABLE copy LIKE idem_record; CREATE TEMPORARY TABLE idem_record LIKE copy",
            "temporary",
        ),
        (
            "RENAME TABLE idem_record TO t; CREATE VIEW idem_record AS SELECT * FROM t",
            "not a table",
        ),
        (
            "ALTER TABLE idem_record PARTITION BY KEY (`key`) PARTITIONS 2",
            "partitioned",
        ),
        (
            "ALTER TABLE idem_record ADD SYSTEM VERSIONING",
            "not an ordinary table",
        ),
    ] {
        match fault(statement).await {
            SchemaFault::NotPermanent { found, .. } => assert_eq!(found, what),
            other => panic!("{statement}: {other:?}"),
        }
    }
}

/// Also one created after the table was verified.
#[tokio::test]
async fn a_trigger_that_changes_the_record_is_an_error() {
    for change in [
        "BEFORE UPDATE ON idem_record FOR EACH ROW SET NEW.result = x'31'",
        "BEFORE UPDATE ON idem_record FOR EACH ROW SET NEW.attempt_id = OLD.attempt_id, NEW.status = 2, \
         NEW.failure = NEW.result, NEW.result = NULL",
        "BEFORE INSERT ON idem_record FOR EACH ROW SET NEW.attempt_id = x'00'",
    ] {
        let (_database, mut conn) = changed("").await;
        schema::verify(&mut conn).await.unwrap();
        let trigger = format!("CREATE TRIGGER change_it {change}");
        conn.execute(sqlx::raw_sql(AssertSqlSafe(trigger)))
            .await
            .unwrap();
        let store = store();
        MySqlTransactionManager::begin(&mut conn, None)
            .await
            .unwrap();
        let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
        let mut bound = store.in_transaction(&mut conn).unwrap();
        let error = bound.commit(claim, &json!("lost")).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::RecordNotWritten | Error::FreshTransactionNeeded
            ),
            "{change}: {error:?}"
        );
    }
}

/// A session without strict mode cuts values that are too long, and reports it only by a warning.
#[tokio::test]
async fn a_payload_that_the_column_would_cut_is_never_recorded() {
    let (_database, mut conn) = changed("SET sql_mode = ''").await;
    schema::verify(&mut conn).await.unwrap();
    let trigger = "CREATE TRIGGER cut BEFORE UPDATE ON idem_record FOR EACH ROW \
         SET NEW.result = LEFT(NEW.result, 5)";
    conn.execute(sqlx::raw_sql(trigger)).await.unwrap();
    let store = store();
    MySqlTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("longer")).await.unwrap_err();
    assert!(matches!(error, Error::RecordNotWritten), "{error:?}");
}

/// A trigger created after the table was verified, which preserves the lengths of the values that
/// it changes.
#[tokio::test]
async fn a_record_that_is_not_what_was_written_is_an_error() {
    let (_database, mut conn) = changed("").await;
    schema::verify(&mut conn).await.unwrap();
    let trigger = "CREATE TRIGGER turn BEFORE UPDATE ON idem_record FOR EACH ROW SET NEW.result = REVERSE(NEW.result)";
    conn.execute(sqlx::raw_sql(trigger)).await.unwrap();
    let store = store();
    MySqlTransactionManager::begin(&mut conn, None)
        .await
        .unwrap();
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!(12)).await.unwrap_err();
    assert!(matches!(error, Error::RecordNotWritten), "{error:?}");
}

#[tokio::test]
async fn a_column_that_does_not_hold_what_is_written_is_refused() {
    for (column, change) in [
        (
            "operation",
            "MODIFY operation VARCHAR(1020) CHARACTER SET latin1 NOT NULL",
        ),
        ("namespace", "MODIFY namespace VARBINARY(63) NOT NULL"),
        ("created_at", "MODIFY created_at DATETIME NOT NULL"),
        ("expires_at", "MODIFY expires_at INT NOT NULL"),
        ("locked_until", "MODIFY locked_until BIGINT UNSIGNED"),
        ("session_id", "MODIFY session_id INT UNSIGNED"),
        ("attempt", "MODIFY attempt SMALLINT NOT NULL"),
        ("status", "MODIFY status TINYINT NOT NULL"),
        ("fingerprint", "MODIFY fingerprint VARBINARY(31)"),
        ("failure", "MODIFY failure LONGBLOB NOT NULL"),
        ("operation", "MODIFY operation VARBINARY(1020)"),
        ("attempt_id", "MODIFY attempt_id BINARY(16)"),
        ("extra", "ADD COLUMN extra INT NOT NULL"),
        (
            "codec",
            "DROP COLUMN codec, ADD COLUMN codec SMALLINT AS (1) STORED",
        ),
    ] {
        let statement = format!(
            "ALTER TABLE idem_record DROP CONSTRAINT idem_record_status, DROP CONSTRAINT idem_record_operation; \
             ALTER TABLE idem_record {change}"
        );
        match fault(&statement).await {
            SchemaFault::Column { column: found, .. } => assert_eq!(found, column, "{change}"),
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn columns_of_the_users_own_that_fill_themselves_are_none_of_our_business() {
    let (_database, mut conn) = changed(
        "ALTER TABLE idem_record ADD COLUMN id BIGINT NOT NULL AUTO_INCREMENT UNIQUE, ADD COLUMN note TEXT, \
         ADD COLUMN made TIMESTAMP NOT NULL DEFAULT now(), \
         ADD COLUMN half VARBINARY(3) AS (left(`key`, 3)) VIRTUAL, ADD CHECK (status >= 0)",
    )
    .await;
    schema::verify(&mut conn).await.unwrap();
}

#[tokio::test]
async fn a_trigger_that_runs_before_a_write_is_refused_and_one_after_it_is_not() {
    for event in ["INSERT", "UPDATE", "DELETE"] {
        let trigger = |when: &str| {
            format!("CREATE TRIGGER pass {when} {event} ON idem_record FOR EACH ROW SET @a = 1")
        };
        match fault(&trigger("BEFORE")).await {
            SchemaFault::Trigger { trigger, .. } => {
                assert!(trigger.split('.').next_back() == Some("pass"));
            }
            other => panic!("{event}: {other:?}"),
        }
        let (_database, mut conn) = changed(&trigger("AFTER")).await;
        schema::verify(&mut conn).await.unwrap();
    }
}

/// A definition without an engine is not taken for one with another engine.
#[tokio::test]
async fn a_session_that_hides_the_engine_hides_no_fault() {
    for mode in ["NO_TABLE_OPTIONS", "ORACLE", "ANSI"] {
        let mode = format!("SET sql_mode = '{mode}'");
        let (_fit, mut conn) = changed(&mode).await;
        schema::verify(&mut conn).await.unwrap();
        let (_unfit, mut conn) = changed(
            "ALTER TABLE idem_record MODIFY scope VARBINARY(9) NOT NULL, \
             MODIFY `key` VARBINARY(9) NOT NULL, ENGINE = MyISAM, ROW_FORMAT = DEFAULT",
        )
        .await;
        conn.execute(sqlx::raw_sql(AssertSqlSafe(mode)))
            .await
            .unwrap();
        let found = schema::verify(&mut conn).await.unwrap_err();
        assert!(
            matches!(found, Error::Schema(SchemaFault::NotTransactional { .. })),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn what_is_less_safe_beside_the_records_is_reported_and_not_refused() {
    let (database, mut conn) = changed("").await;
    assert_eq!(schema::verify(&mut conn).await.unwrap(), []);
    for engine in ["MyISAM", "Aria", "MEMORY"] {
        let statement = format!("CREATE OR REPLACE TABLE beside (n INT) ENGINE = {engine}");
        conn.execute(sqlx::raw_sql(AssertSqlSafe(statement)))
            .await
            .unwrap();
        let table = format!("{}.beside", database.name());
        let found = schema::verify(&mut conn).await.unwrap();
        let engine = engine.to_owned();
        assert_eq!(found, [SchemaFinding::NotTransactional { table, engine }]);
        assert!(found[0].to_string().contains("ENGINE = InnoDB"));
    }
}
