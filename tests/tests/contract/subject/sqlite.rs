//! SQLite under the contract, in both journal modes.

use std::time::Duration;

use idem_runtime::record::Timestamp;
use idem_runtime::schema;
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::sqlite::SqliteTransactionManager;
use sqlx::{AssertSqlSafe, Executor, SqliteConnection};
use sqlx_core::transaction::TransactionManager as _;
use uuid::Uuid;

use super::{Edit, Subject};

/// Both journal modes: they differ in which connection waits for which.
macro_rules! subject {
    ($name:ident, $journal:expr) => {
        pub(crate) struct $name(Sqlite);

        impl Subject for $name {
            type Conn = SqliteConnection;
            const OTHER_TABLES: &'static [&'static str] = &["billing", "main.invoicing"];

            async fn fresh() -> Self {
                let subject = Self(Sqlite::fresh($journal));
                create(&mut subject.connect().await, Self::OTHER_TABLES).await;
                subject
            }

            async fn connect(&self) -> SqliteConnection {
                self.0.connect().await
            }

            async fn begin(conn: &mut SqliteConnection) {
                SqliteTransactionManager::begin(conn, None)
                    .await
                    .expect("no transaction is open");
            }

            async fn commit(conn: &mut SqliteConnection) {
                SqliteTransactionManager::commit(conn)
                    .await
                    .expect("nothing stands against it");
            }

            async fn rollback(conn: &mut SqliteConnection) {
                SqliteTransactionManager::rollback(conn)
                    .await
                    .expect("a transaction is open");
            }

            async fn now(&self) -> Timestamp {
                now(&mut self.connect().await).await
            }

            async fn count(&self) -> usize {
                let count: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
                    .fetch_one(&mut self.connect().await)
                    .await
                    .expect("the file can be read");
                usize::try_from(count).expect("a count")
            }

            async fn view(&self) -> (bool, bool) {
                sqlx::query_as(
                    "SELECT request IS NOT NULL, request_too_large FROM idem_record_readable",
                )
                .fetch_one(&mut self.connect().await)
                .await
                .expect("the file can be read")
            }

            async fn age(&self, by: Duration) {
                age(&mut self.connect().await, by).await;
            }

            async fn edit(&self, key: &str, change: Edit<'_>) {
                edit(&mut self.connect().await, key, change).await;
            }

            async fn competitor(&self, conn: &mut SqliteConnection, like: &str, key: &str) {
                competitor(conn, like, key).await;
            }
        }
    };
}

subject!(SqliteWal, Journal::Wal);
subject!(SqliteRollback, Journal::Rollback);

async fn create(conn: &mut SqliteConnection, others: &[&str]) {
    schema::create_if_missing(conn).await.expect("the table");
    for table in others {
        schema::create_table_if_missing(conn, table)
            .await
            .expect("the table");
    }
}

async fn now(conn: &mut SqliteConnection) -> Timestamp {
    let seconds: f64 = sqlx::query_scalar("SELECT (julianday('now') - 2440587.5) * 86400.0")
        .fetch_one(conn)
        .await
        .expect("the clock can be read");
    #[allow(clippy::cast_possible_truncation, reason = "a time of this century")]
    Timestamp::from_micros((seconds * 1000.0).round() as i64 * 1000)
}

/// Disables CHECK constraints on this connection, to write a record that no attempt could write.
async fn check_nothing(conn: &mut SqliteConnection) {
    conn.execute("PRAGMA ignore_check_constraints = ON")
        .await
        .expect("a known pragma");
}

async fn age(conn: &mut SqliteConnection, by: Duration) {
    check_nothing(conn).await;
    sqlx::query(
        "UPDATE idem_record SET created_at = created_at - ?1, \
         expires_at = iif(expires_at = 9223372036854775807, expires_at, expires_at - ?1)",
    )
    .bind(i64::try_from(by.as_micros()).expect("a time of this century"))
    .execute(conn)
    .await
    .expect("the file can be written");
}

async fn edit(conn: &mut SqliteConnection, key: &str, edit: Edit<'_>) {
    check_nothing(conn).await;
    let set =
        |columns: &str| AssertSqlSafe(format!("UPDATE idem_record SET {columns} WHERE key = ?1"));
    let query = match edit {
        Edit::Status(code) => sqlx::query(set("status = ?2")).bind(key).bind(code),
        Edit::Codec(code) => sqlx::query(set("codec = ?2")).bind(key).bind(code),
        Edit::FingerprintVersion(code) => sqlx::query(set("fingerprint_version = ?2"))
            .bind(key)
            .bind(code),
        Edit::Result(bytes) => sqlx::query(set("result = ?2")).bind(key).bind(bytes),
        Edit::Request(bytes) => sqlx::query(set("request = ?2")).bind(key).bind(bytes),
        Edit::Lease(code, left) => {
            let until = now(conn).await.as_micros()
                + i64::try_from(left.as_micros()).expect("a time of this century");
            sqlx::query(set("status = ?2, result = NULL, \
                 expires_at = 9223372036854775807, locked_until = ?3"))
            .bind(key)
            .bind(code)
            .bind(until)
        }
    };
    let done = query.execute(conn).await.expect("the file can be written");
    assert_eq!(done.rows_affected(), 1);
}

async fn competitor(conn: &mut SqliteConnection, like: &str, key: &str) {
    let expires_at = now(conn).await.as_micros() + 3_600_000_000;
    let done = sqlx::query(
        "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
           codec, namespace, scope, key, operation, fingerprint, request, result) \
         SELECT created_at, ?1, ?2, attempt, status, fingerprint_version, \
           codec, namespace, scope, ?3, operation, fingerprint, request, result \
         FROM idem_record WHERE key = ?4 \
         ON CONFLICT (namespace, scope, key) DO UPDATE \
         SET attempt_id = excluded.attempt_id, expires_at = excluded.expires_at",
    )
    .bind(expires_at)
    .bind(Uuid::new_v4())
    .bind(key)
    .bind(like)
    .execute(conn)
    .await
    .expect("the file can be written");
    assert_eq!(done.rows_affected(), 1);
}
