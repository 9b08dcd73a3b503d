//! PostgreSQL under the contract.

use std::time::Duration;

use idem_runtime::record::Timestamp;
use idem_runtime::schema;
use idem_tests::postgres::{Database, Pooler};
use sqlx::postgres::PgTransactionManager;
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use sqlx_core::transaction::TransactionManager as _;
use uuid::Uuid;

use super::{Edit, Subject};

/// How the test's own connections reach the database.
pub(crate) trait Way: Sized {
    async fn fresh() -> Self;
    /// The database itself, without a pooler in front of it.
    fn direct(&self) -> &Database;
    async fn connect(&self) -> PgConnection;
}

impl Way for Database {
    async fn fresh() -> Self {
        Self::fresh().await
    }

    fn direct(&self) -> &Database {
        self
    }

    async fn connect(&self) -> PgConnection {
        self.connect().await
    }
}

impl Way for (Database, Pooler) {
    async fn fresh() -> Self {
        Pooler::fresh().await
    }

    fn direct(&self) -> &Database {
        &self.0
    }

    async fn connect(&self) -> PgConnection {
        self.1.connect().await
    }
}

/// The newest major version.
pub(crate) struct Newest(Database);

impl Way for Newest {
    async fn fresh() -> Self {
        Self(Database::fresh_on_18().await)
    }

    fn direct(&self) -> &Database {
        &self.0
    }

    async fn connect(&self) -> PgConnection {
        self.0.connect().await
    }
}

pub(crate) struct On<W>(W);

pub(crate) type Postgres = On<Database>;
pub(crate) type Postgres18 = On<Newest>;
/// Each transaction runs on a different server connection.
pub(crate) type PgBouncer = On<(Database, Pooler)>;

impl<W: Way> On<W> {
    /// A connection for actions that no attempt performs.
    async fn aside(&self) -> PgConnection {
        self.0.direct().connect().await
    }

    async fn run(&self, statement: &'static str) -> u64 {
        let mut conn = self.aside().await;
        let done = conn.execute(statement).await.expect("a valid statement");
        done.rows_affected()
    }
}

impl<W: Way> Subject for On<W> {
    type Conn = PgConnection;
    const OTHER_TABLES: &'static [&'static str] = &["billing", "app.billing"];

    async fn fresh() -> Self {
        let subject = Self(W::fresh().await);
        let mut conn = subject.connect().await;
        subject.run("CREATE SCHEMA app").await;
        schema::create_if_missing(&mut conn)
            .await
            .expect("the table");
        for table in Self::OTHER_TABLES {
            schema::create_table_if_missing(&mut conn, table)
                .await
                .expect("the table");
        }
        subject
    }

    async fn connect(&self) -> PgConnection {
        self.0.connect().await
    }

    async fn begin(conn: &mut PgConnection) {
        PgTransactionManager::begin(conn, None)
            .await
            .expect("no transaction is open");
    }

    async fn commit(conn: &mut PgConnection) {
        PgTransactionManager::commit(conn)
            .await
            .expect("nothing stands against it");
    }

    async fn rollback(conn: &mut PgConnection) {
        PgTransactionManager::rollback(conn)
            .await
            .expect("a transaction is open");
    }

    async fn now(&self) -> Timestamp {
        let micros =
            sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
                .fetch_one(&mut self.aside().await)
                .await
                .expect("the server answers");
        Timestamp::from_micros(micros)
    }

    async fn count(&self) -> usize {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
            .fetch_one(&mut self.aside().await)
            .await
            .expect("the server answers");
        usize::try_from(count).expect("a count")
    }

    async fn view(&self) -> (bool, bool) {
        sqlx::query_as("SELECT request IS NOT NULL, request_too_large FROM idem_record_readable")
            .fetch_one(&mut self.aside().await)
            .await
            .expect("the server answers")
    }

    async fn age(&self, by: Duration) {
        sqlx::query(
            "UPDATE idem_record SET created_at = created_at - $1 * interval '1 second', \
             expires_at = expires_at - $1 * interval '1 second'",
        )
        .bind(by.as_secs_f64())
        .execute(&mut self.aside().await)
        .await
        .expect("the server answers");
    }

    async fn edit(&self, key: &str, edit: Edit<'_>) {
        self.run("ALTER TABLE idem_record DROP CONSTRAINT IF EXISTS idem_record_status")
            .await;
        let set = |columns: &str| {
            AssertSqlSafe(format!("UPDATE idem_record SET {columns} WHERE key = $1"))
        };
        let query = match edit {
            Edit::Status(code) => sqlx::query(set("status = $2")).bind(key).bind(code),
            Edit::Codec(code) => sqlx::query(set("codec = $2")).bind(key).bind(code),
            Edit::FingerprintVersion(code) => sqlx::query(set("fingerprint_version = $2"))
                .bind(key)
                .bind(code),
            Edit::Result(bytes) => sqlx::query(set("result = $2")).bind(key).bind(bytes),
            Edit::Request(bytes) => sqlx::query(set("request = $2")).bind(key).bind(bytes),
            Edit::Lease(code, left) => sqlx::query(set("status = $2, result = NULL, \
                 expires_at = 'infinity', locked_until = clock_timestamp() + $3 * interval '1 second'"))
            .bind(key)
            .bind(code)
            .bind(left.as_secs_f64()),
        };
        let done = query
            .execute(&mut self.aside().await)
            .await
            .expect("the server answers");
        assert_eq!(done.rows_affected(), 1);
    }

    async fn competitor(&self, conn: &mut PgConnection, like: &str, key: &str) {
        let done = sqlx::query(
            "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
               codec, namespace, scope, key, operation, fingerprint, request, result) \
             SELECT created_at, clock_timestamp() + interval '1 hour', $1, attempt, status, fingerprint_version, \
               codec, namespace, scope, $2, operation, fingerprint, request, result \
             FROM idem_record WHERE key = $3 \
             ON CONFLICT (namespace, scope, key) DO UPDATE \
             SET attempt_id = excluded.attempt_id, expires_at = excluded.expires_at",
        )
        .bind(Uuid::new_v4())
        .bind(key)
        .bind(like)
        .execute(conn)
        .await
        .expect("the server answers");
        assert_eq!(done.rows_affected(), 1);
    }
}

#[tokio::test]
async fn the_stamp_of_18_runs_on_18() {
    let subject = Postgres18::fresh().await;
    let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
        .fetch_one(&mut subject.connect().await)
        .await
        .expect("the server answers");
    assert_eq!(version / 10_000, 18);
}
