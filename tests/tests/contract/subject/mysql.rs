//! MySQL and MariaDB under the contract.

use std::time::Duration;

use idem_runtime::record::Timestamp;
use idem_runtime::schema;
use idem_tests::mysql::Database;
use sqlx::mysql::MySqlTransactionManager;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection};
use sqlx_core::transaction::TransactionManager as _;
use uuid::Uuid;

use super::{Edit, Subject};

pub(crate) struct MySql(Database);

pub(super) const NOW: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

impl MySql {
    pub(super) async fn run(&self, statement: &str) -> u64 {
        let mut conn = self.connect().await;
        let statement = sqlx::raw_sql(AssertSqlSafe(statement));
        let done = conn.execute(statement).await.expect("a valid statement");
        done.rows_affected()
    }
}

impl Subject for MySql {
    type Conn = MySqlConnection;
    const OTHER_TABLES: &'static [&'static str] = &["billing", "idem_test_app.billing"];

    async fn fresh() -> Self {
        let subject = Self(Database::fresh().await);
        let mut conn = subject.connect().await;
        // MySQL has no schemas inside a database, so other tests create this one as well.
        subject
            .run("CREATE DATABASE IF NOT EXISTS idem_test_app")
            .await;
        schema::create_if_missing(&mut conn)
            .await
            .expect("the table");
        for table in Self::OTHER_TABLES {
            schema::create_table_if_missing(&mut conn, table)
                .await
                .expect("the table");
        }
        // Removes the leftovers of an earlier run on the user's server.
        subject
            .run(&format!(
                "DELETE FROM idem_test_app.billing WHERE created_at < {NOW} - 60000000"
            ))
            .await;
        subject
    }

    async fn connect(&self) -> MySqlConnection {
        self.0.connect().await
    }

    async fn begin(conn: &mut MySqlConnection) {
        MySqlTransactionManager::begin(conn, None)
            .await
            .expect("no transaction is open");
    }

    async fn commit(conn: &mut MySqlConnection) {
        MySqlTransactionManager::commit(conn)
            .await
            .expect("nothing stands against it");
    }

    async fn rollback(conn: &mut MySqlConnection) {
        MySqlTransactionManager::rollback(conn)
            .await
            .expect("a transaction is open");
    }

    async fn now(&self) -> Timestamp {
        let micros = sqlx::query_scalar(AssertSqlSafe(format!("SELECT {NOW}")))
            .fetch_one(&mut self.connect().await)
            .await
            .expect("the server answers");
        Timestamp::from_micros(micros)
    }

    async fn count(&self) -> usize {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
            .fetch_one(&mut self.connect().await)
            .await
            .expect("the server answers");
        usize::try_from(count).expect("a count")
    }

    async fn view(&self) -> (bool, bool) {
        let (shown, too_large): (i64, i64) = sqlx::query_as(
            "SELECT CAST(request IS NOT NULL AS SIGNED), CAST(request_too_large AS SIGNED) \
             FROM idem_record_readable",
        )
        .fetch_one(&mut self.connect().await)
        .await
        .expect("the server answers");
        (shown == 1, too_large == 1)
    }

    async fn age(&self, by: Duration) {
        let by = by.as_micros();
        self.run(&format!(
            "UPDATE idem_record SET created_at = created_at - {by}, \
             expires_at = IF(expires_at = 9223372036854775807, expires_at, expires_at - {by})"
        ))
        .await;
    }

    async fn edit(&self, key: &str, edit: Edit<'_>) {
        // The edit may violate these constraints.
        for constraint in ["idem_record_status", "idem_record_operation"] {
            let drop = format!("ALTER TABLE idem_record DROP CONSTRAINT IF EXISTS {constraint}");
            self.run(&drop).await;
        }
        let set = |columns: &str| {
            AssertSqlSafe(format!("UPDATE idem_record SET {columns} WHERE `key` = ?"))
        };
        let query = match edit {
            Edit::Status(code) => sqlx::query(set("status = ?")).bind(code),
            Edit::Codec(code) => sqlx::query(set("codec = ?")).bind(code),
            Edit::FingerprintVersion(code) => {
                sqlx::query(set("fingerprint_version = ?")).bind(code)
            }
            Edit::Result(bytes) => sqlx::query(set("result = ?")).bind(bytes),
            Edit::Request(bytes) => sqlx::query(set("request = ?")).bind(bytes),
            Edit::Lease(code, left) => sqlx::query(set(&format!(
                "status = ?, result = NULL, expires_at = 9223372036854775807, \
                 locked_until = {NOW} + {}",
                left.as_micros()
            )))
            .bind(code),
        };
        let done = query
            .bind(key.as_bytes())
            .execute(&mut self.connect().await)
            .await
            .expect("the server answers");
        assert_eq!(done.rows_affected(), 1);
    }

    async fn competitor(&self, conn: &mut MySqlConnection, like: &str, key: &str) {
        let done = sqlx::query(AssertSqlSafe(format!(
            "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
               codec, namespace, scope, `key`, operation, fingerprint, request, result) \
             SELECT created_at, {NOW} + 3600000000, ?, attempt, status, fingerprint_version, \
               codec, namespace, scope, ?, operation, fingerprint, request, result \
             FROM (SELECT * FROM idem_record WHERE `key` = ?) AS model \
             ON DUPLICATE KEY UPDATE attempt_id = VALUES(attempt_id), expires_at = VALUES(expires_at), \
               status = VALUES(status), session_id = NULL, operation = VALUES(operation), result = VALUES(result)",
        )))
        .bind(Uuid::new_v4())
        .bind(key.as_bytes())
        .bind(like.as_bytes())
        .execute(conn)
        .await
        .expect("the server answers");
        assert!(done.rows_affected() > 0);
    }
}
