//! Faults that only a lease meets.

use idem_runtime::error::SchemaFault;
use idem_runtime::policy::OnLapse;
use idem_runtime::record::Status;
use idem_runtime::store::{AsSession, Migrate, StoreLease};
use idem_runtime::{Error, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests::{mysql, postgres};
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection};

use crate::subject::{PAY, lease, read, store};

/// Drops the column that no atomic call reads or writes.
async fn expect_missed<C>(conn: &mut C, drop_column: &str)
where
    C: Connection + AsSession<Session: Migrate>,
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
{
    schema::create_if_missing(conn).await.expect("made");
    conn.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(drop_column.to_owned())))
        .await
        .expect("it can be dropped");
    match schema::verify(conn).await {
        Err(Error::Schema(SchemaFault::Column { column, fault, .. })) => {
            assert_eq!(column, "on_lapse");
            assert!(fault.starts_with("is missing"), "{fault}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_missing_column_that_only_leases_use_is_named_on_postgres() {
    let database = postgres::Database::fresh().await;
    let statement = "ALTER TABLE idem_record DROP COLUMN on_lapse CASCADE";
    expect_missed(&mut database.connect().await, statement).await;
}

#[tokio::test]
async fn a_missing_column_that_only_leases_use_is_named_on_mysql() {
    let database = mysql::Database::fresh().await;
    let statement = "ALTER TABLE idem_record DROP COLUMN on_lapse";
    expect_missed(&mut database.connect().await, statement).await;
}

#[tokio::test]
async fn a_missing_column_that_only_leases_use_is_named_on_sqlite() {
    let database = Sqlite::fresh(Journal::Wal);
    let statement = "DROP VIEW idem_record_readable; ALTER TABLE idem_record DROP COLUMN on_lapse";
    expect_missed(&mut database.connect().await, statement).await;
}

/// Returns the error of each statement that a lease's owner, or an operator, may send.
async fn refusals(conn: &mut PgConnection, held: &StoreLease) -> Vec<(&'static str, Error)> {
    let store = store();
    let mut bound = store.in_connection(conn);
    vec![
        ("extend", bound.extend(held).await.unwrap_err()),
        (
            "complete",
            bound.complete(held, &json!(1)).await.unwrap_err(),
        ),
        ("release", bound.release_lease(held).await.unwrap_err()),
        ("leave", bound.leave_unknown(held).await.unwrap_err()),
        ("lapse", bound.lapse_overdue(PAY, 10).await.unwrap_err()),
    ]
}

async fn leased() -> (postgres::Database, PgConnection, StoreLease) {
    let database = postgres::Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    let held = lease(&mut conn, OnLapse::Unknown).await;
    (database, conn, held)
}

#[tokio::test]
async fn a_lease_of_a_role_that_may_not_update_is_told_which_grant_is_missing() {
    let (_database, mut conn, held) = leased().await;
    conn.execute(sqlx::raw_sql(
        "GRANT SELECT, INSERT ON idem_record TO pg_monitor; SET ROLE pg_monitor",
    ))
    .await
    .unwrap();
    for (what, refusal) in refusals(&mut conn, &held).await {
        let Error::PermissionDenied {
            table, privilege, ..
        } = &refusal
        else {
            panic!("{what}: {refusal:?}");
        };
        assert_eq!(table, "idem_record", "{what}");
        assert!(privilege.contains("UPDATE"), "{what}: {privilege}");
        let text = refusal.to_string();
        assert!(text.contains("GRANT"), "{what}: {text}");
        assert!(!refusal.is_retryable(), "{what}");
    }
    conn.execute("RESET ROLE").await.unwrap();
    assert_eq!(read(&mut conn).await.status, Status::InProgress);
}

#[tokio::test]
async fn a_table_that_is_dropped_under_a_lease_is_named() {
    let (_database, mut conn, held) = leased().await;
    conn.execute("DROP TABLE idem_record CASCADE")
        .await
        .unwrap();
    for (what, refusal) in refusals(&mut conn, &held).await {
        let Error::Schema(SchemaFault::TableMissing { table }) = &refusal else {
            panic!("{what}: {refusal:?}");
        };
        assert_eq!(table, "idem_record", "{what}");
    }
}
