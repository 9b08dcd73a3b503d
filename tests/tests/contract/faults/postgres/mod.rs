//! The tables that `schema::verify` refuses on PostgreSQL.

mod findings;
mod index;
mod writes;

use idem_runtime::error::{SchemaFault, SchemaFinding};
use idem_runtime::{Error, schema};
use idem_tests::postgres::Database;
use serde_json::json;
use sqlx::postgres::PgTransactionManager;
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use sqlx_core::transaction::TransactionManager as _;

use crate::subject::{PAY, claim, key, store};

/// Creates a database with the table, changed by `statement`.
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

/// Returns the fault found at start-up, and asserts that a first claim finds the same one.
async fn fault(statement: &str) -> SchemaFault {
    let (database, mut conn) = changed(statement).await;
    let Err(Error::Schema(at_start)) = schema::verify(&mut conn).await else {
        panic!("found fit: {statement}")
    };
    let mut conn = match at_start {
        // A temporary table is visible only to its own session.
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
    PgTransactionManager::rollback(&mut conn).await.unwrap();
    expect_mended(&mut conn, at_start.clone(), statement).await;
    at_start
}

/// Asserts that the statement named by a fault repairs it; a further fault may follow.
async fn expect_mended(conn: &mut PgConnection, mut fault: SchemaFault, statement: &str) {
    for _ in 0..8 {
        let Some(fix) = fault.fix().filter(|fix| !fix.starts_with("name ")) else {
            return;
        };
        let line = fix.split(" (then").next().unwrap().to_owned();
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

/// Also one created after the table was verified.
#[tokio::test]
async fn a_trigger_that_swallows_the_record_is_an_error() {
    let (_database, mut conn) = changed("").await;
    schema::verify(&mut conn).await.unwrap();
    let trigger = "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER swallow BEFORE INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION swallow()";
    conn.execute(sqlx::raw_sql(trigger)).await.unwrap();
    let store = store();
    PgTransactionManager::begin(&mut conn, None).await.unwrap();
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("lost")).await.unwrap_err();
    assert!(matches!(error, Error::RecordNotWritten), "{error:?}");
}

const CASELESS: &str =
    "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
     DROP VIEW idem_record_readable; ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey;";

/// A record is looked up by the collation of the column, not by that of the index.
#[tokio::test]
async fn a_collation_under_which_different_keys_are_equal_is_refused_beside_a_bytewise_index() {
    for column in ["namespace", "scope", "key", "operation"] {
        let statement = format!(
            "{CASELESS} ALTER TABLE idem_record ALTER COLUMN {column} TYPE varchar(255) COLLATE caseless;
             CREATE UNIQUE INDEX ON idem_record (namespace COLLATE \"C\", scope COLLATE \"C\", key COLLATE \"C\")"
        );
        match fault(&statement).await {
            SchemaFault::Column { column: found, .. } => assert_eq!(found, column),
            other => panic!("{column}: {other:?}"),
        }
    }
}

/// Creates the table in two partitions by `sql`.
fn partitioned(second: &str) -> String {
    format!(
        "DROP VIEW idem_record_readable; ALTER TABLE idem_record RENAME TO model;
         CREATE TABLE idem_record (LIKE model INCLUDING ALL) PARTITION BY HASH (key);
         CREATE TABLE first PARTITION OF idem_record FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE {second} PARTITION OF idem_record FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    )
}

#[tokio::test]
async fn a_table_is_as_permanent_as_each_of_its_partitions() {
    let (_database, mut conn) = changed(&partitioned("TABLE second")).await;
    schema::verify(&mut conn).await.unwrap();
    for (second, then) in [
        ("UNLOGGED TABLE second", ""),
        (
            "TABLE second",
            " PARTITION BY HASH (scope); CREATE UNLOGGED TABLE third PARTITION OF second DEFAULT",
        ),
    ] {
        let then = then.replace("DEFAULT", "FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
        match fault(&format!("{}{then}", partitioned(second))).await {
            SchemaFault::NotPermanent { table, found, .. } => {
                assert_eq!((table == "idem_record", found), (false, "unlogged"));
            }
            other => panic!("{second}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_table_whose_children_have_rows_of_their_own_is_refused() {
    match fault("CREATE TABLE child () INHERITS (idem_record)").await {
        SchemaFault::NotPermanent { found, .. } => assert_eq!(found, "a parent of other tables"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_foreign_partition_is_refused() {
    let made = partitioned("FOREIGN TABLE second").replace("INCLUDING ALL", "INCLUDING DEFAULTS");
    let made = format!(
        "CREATE EXTENSION file_fdw; CREATE SERVER far FOREIGN DATA WRAPPER file_fdw; \
         {made} SERVER far OPTIONS (filename '/dev/null')"
    );
    match fault(&made).await {
        SchemaFault::NotPermanent { table, found, .. } => {
            assert_eq!((&*table, found), ("second", "a foreign table"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_column_that_does_not_hold_what_is_written_is_refused() {
    for (column, change) in [
        ("key", "ALTER COLUMN key TYPE varchar(254)"),
        ("operation", "ALTER COLUMN operation TYPE char(255)"),
        ("created_at", "ALTER COLUMN created_at TYPE timestamp"),
        (
            "locked_until",
            "ALTER COLUMN locked_until TYPE timestamptz(0)",
        ),
        ("status", "ALTER COLUMN status TYPE integer"),
        ("attempt", "ALTER COLUMN attempt TYPE bigint"),
        ("attempt_id", "ALTER COLUMN attempt_id TYPE text"),
        ("request", "ALTER COLUMN request SET NOT NULL"),
        ("fingerprint", "ALTER COLUMN fingerprint SET NOT NULL"),
        ("extra", "ADD COLUMN extra integer NOT NULL"),
        ("extra", "ADD COLUMN extra required"),
        (
            "attempt",
            "ALTER COLUMN attempt ADD GENERATED ALWAYS AS IDENTITY",
        ),
        (
            "codec",
            "DROP COLUMN codec, ADD COLUMN codec smallint GENERATED ALWAYS AS (1) STORED",
        ),
    ] {
        let statement = format!(
            "CREATE DOMAIN required AS integer NOT NULL;
             DROP VIEW idem_record_readable; ALTER TABLE idem_record DROP CONSTRAINT idem_record_status;
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
        "CREATE DOMAIN counted AS integer NOT NULL DEFAULT 0;
         ALTER TABLE idem_record ALTER COLUMN attempt ADD GENERATED BY DEFAULT AS IDENTITY;
         ALTER TABLE idem_record ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY, ADD COLUMN tries counted,
         ADD COLUMN note text COLLATE \"POSIX\", ADD COLUMN made timestamptz NOT NULL DEFAULT now(),
         ADD COLUMN half text GENERATED ALWAYS AS (left(key, 3)) STORED, ADD CHECK (status > 0)",
    )
    .await;
    schema::verify(&mut conn).await.unwrap();
}

const FUNCTION: &str =
    "CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';";

#[tokio::test]
async fn a_trigger_that_runs_before_or_instead_of_a_write_is_refused_and_one_after_it_is_not() {
    for event in ["INSERT", "UPDATE", "DELETE", "UPDATE OF result"] {
        let refused = format!(
            "{FUNCTION} CREATE TRIGGER \"Pass\" BEFORE {event} ON idem_record FOR EACH ROW EXECUTE FUNCTION pass()"
        );
        match fault(&refused).await {
            SchemaFault::Trigger { trigger, .. } => assert_eq!(trigger, "\"Pass\""),
            other => panic!("{event}: {other:?}"),
        }
        for accepted in [
            format!("AFTER {event} ON idem_record FOR EACH ROW EXECUTE FUNCTION pass()"),
            format!("BEFORE {event} ON idem_record FOR EACH STATEMENT EXECUTE FUNCTION pass()"),
            format!(
                "BEFORE {event} ON idem_record FOR EACH ROW EXECUTE FUNCTION pass();
                 ALTER TABLE idem_record DISABLE TRIGGER pass"
            ),
        ] {
            let (_database, mut conn) =
                changed(&format!("{FUNCTION} CREATE TRIGGER pass {accepted}")).await;
            let fit = schema::verify(&mut conn).await;
            assert!(fit.is_ok(), "{accepted}: {fit:?}");
        }
    }
    let of_a_partition = format!(
        "{}; {FUNCTION} CREATE TRIGGER pass BEFORE INSERT ON second FOR EACH ROW EXECUTE FUNCTION pass()",
        partitioned("TABLE second")
    );
    let found = fault(&of_a_partition).await;
    assert!(matches!(found, SchemaFault::Trigger { .. }), "{found:?}");
}

#[tokio::test]
async fn what_is_less_safe_beside_the_records_is_reported_and_not_refused() {
    let (_database, mut conn) = changed("CREATE UNLOGGED TABLE quick (n integer)").await;
    let found = schema::verify(&mut conn).await.unwrap();
    let table = "quick".to_owned();
    assert_eq!(found, [SchemaFinding::Unlogged { table }]);
    assert!(
        found[0]
            .to_string()
            .contains("ALTER TABLE quick SET LOGGED")
    );
}
