//! The databases that hold the records of the mails.

use idem_runtime::record::{Record, Status};
use idem_runtime::store::{LeaseBackend, LeaseSession, RawStore, Store};
use idem_runtime::{IdempotencyKey, Namespace, schema};
use idem_tests::postgres::Database;
use idem_tests::sqlite::Journal;
use sqlx::{AssertSqlSafe, MySqlPool, PgPool, Pool, SqlitePool};

/// A fresh database with the record's table.
pub(crate) trait LeaseDatabase: Sized {
    type Db: LeaseBackend;

    async fn open() -> Self;
    fn pool(&self) -> Pool<Self::Db>;
    /// Moves the end of every lease to this many microseconds from now.
    async fn end_leases_in(&self, left: i64);
    /// Returns the ends of the leases in microseconds, in the order of their keys, without using
    /// the pool.
    async fn ends(&self) -> Vec<i64>;
    /// Returns the status of the only record, without using the pool.
    async fn only_status(&self) -> i16;
    /// Makes the database refuse payloads of 1,000 bytes or more.
    async fn refuse_long_payloads(&self);
    /// Makes a trigger whose own table refuses, as a duplicate, every record but the first.
    async fn refuse_second_record(&self);

    async fn lapse(&self) {
        self.end_leases_in(0).await;
    }

    async fn record(&self, key: &IdempotencyKey) -> Option<Record> {
        let mut conn = self.pool().acquire().await.expect("a connection");
        get(&mut *conn, key).await
    }

    async fn status(&self, key: &IdempotencyKey) -> Option<Status> {
        self.record(key).await.map(|record| record.status)
    }
}

async fn get<C: LeaseSession>(conn: &mut C, key: &IdempotencyKey) -> Option<Record> {
    let mails = mails();
    let mut bound = mails.in_connection(conn);
    bound.get(key).await.expect("it can be read")
}

/// The records of the mails, for reconciliation.
pub(crate) fn mails() -> RawStore {
    Store::new(Namespace::from_static("mail"))
}

/// On a server, where a check can be added at any time.
const REFUSAL: &str = "ALTER TABLE idem_record ADD CONSTRAINT short CHECK \
     (coalesce(octet_length(result), 0) < 1000 AND coalesce(octet_length(failure), 0) < 1000)";

/// A trigger that writes one row for each record, for the servers and for the file.
const SECOND: &str = "CREATE TABLE only_one (n INT PRIMARY KEY); \
     CREATE TRIGGER only_one AFTER INSERT ON idem_record FOR EACH ROW";
const SECOND_ROW: &str = "INSERT INTO only_one VALUES (1)";

pub(crate) struct Postgres {
    pub(crate) database: Database,
    pub(crate) pool: PgPool,
    /// A connection that reads the records.
    observer: PgPool,
}

impl Postgres {
    /// Uses a database whose table exists already.
    pub(crate) fn of(database: Database) -> Self {
        let (pool, observer) = (database.pool(4), database.pool(1));
        Self {
            database,
            pool,
            observer,
        }
    }
}

impl LeaseDatabase for Postgres {
    type Db = sqlx::Postgres;

    async fn open() -> Self {
        let database = Database::fresh().await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("made");
        Self::of(database)
    }

    fn pool(&self) -> PgPool {
        self.pool.clone()
    }

    async fn end_leases_in(&self, left: i64) {
        sqlx::query(
            "UPDATE idem_record SET locked_until = clock_timestamp() + $1 * interval '1 microsecond' \
             WHERE status = 3",
        )
        .bind(left)
        .execute(&mut self.database.connect().await)
        .await
        .expect("the server answers");
    }

    async fn ends(&self) -> Vec<i64> {
        sqlx::query_scalar("SELECT (extract(epoch FROM locked_until) * 1000000)::bigint FROM idem_record WHERE status = 3 ORDER BY key")
            .fetch_all(&self.observer)
            .await
            .expect("it can be read")
    }

    async fn only_status(&self) -> i16 {
        sqlx::query_scalar("SELECT status FROM idem_record")
            .fetch_one(&self.observer)
            .await
            .expect("it can be read")
    }

    async fn refuse_long_payloads(&self) {
        sqlx::query(REFUSAL)
            .execute(&mut self.database.connect().await)
            .await
            .expect("the server answers");
    }

    async fn refuse_second_record(&self) {
        let function = "CREATE FUNCTION only_one() RETURNS trigger LANGUAGE plpgsql AS";
        sqlx::raw_sql(AssertSqlSafe(format!(
            "{function} 'BEGIN {SECOND_ROW}; RETURN NULL; END'; {SECOND} EXECUTE FUNCTION only_one()"
        )))
        .execute(&mut self.database.connect().await)
        .await
        .expect("the server answers");
    }
}

pub(crate) struct Sqlite {
    pub(crate) database: idem_tests::sqlite::Sqlite,
    pub(crate) pool: SqlitePool,
    /// A connection that reads the records.
    observer: SqlitePool,
}

impl Sqlite {
    /// Uses a database whose table exists already.
    pub(crate) fn of(database: idem_tests::sqlite::Sqlite) -> Self {
        let (pool, observer) = (database.pool(4), database.pool(1));
        Self {
            database,
            pool,
            observer,
        }
    }
}

impl LeaseDatabase for Sqlite {
    type Db = sqlx::Sqlite;

    async fn open() -> Self {
        let database = idem_tests::sqlite::Sqlite::fresh(Journal::Wal);
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("made");
        Self::of(database)
    }

    fn pool(&self) -> SqlitePool {
        self.pool.clone()
    }

    async fn end_leases_in(&self, left: i64) {
        sqlx::query(
            "UPDATE idem_record SET locked_until = \
             CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + ?1 WHERE status = 3",
        )
        .bind(left)
        .execute(&mut self.database.connect().await)
        .await
        .expect("the file can be written");
    }
    async fn ends(&self) -> Vec<i64> {
        sqlx::query_scalar("SELECT locked_until FROM idem_record WHERE status = 3 ORDER BY key")
            .fetch_all(&self.observer)
            .await
            .expect("it can be read")
    }

    async fn only_status(&self) -> i16 {
        sqlx::query_scalar("SELECT status FROM idem_record")
            .fetch_one(&self.observer)
            .await
            .expect("it can be read")
    }

    async fn refuse_long_payloads(&self) {
        sqlx::query(
            "CREATE TRIGGER short AFTER UPDATE ON idem_record \
             WHEN coalesce(length(NEW.result), length(NEW.failure)) >= 1000 \
             BEGIN SELECT raise(ABORT, 'too long'); END",
        )
        .execute(&mut self.database.connect().await)
        .await
        .expect("the file can be written");
    }

    async fn refuse_second_record(&self) {
        sqlx::raw_sql(AssertSqlSafe(format!("{SECOND} BEGIN {SECOND_ROW}; END")))
            .execute(&mut self.database.connect().await)
            .await
            .expect("the file can be written");
    }
}

pub(crate) struct MySql {
    pub(crate) database: idem_tests::mysql::Database,
    pub(crate) pool: MySqlPool,
    /// A connection that reads the records.
    observer: MySqlPool,
}

impl MySql {
    /// Uses a database whose table exists already.
    pub(crate) fn of(database: idem_tests::mysql::Database) -> Self {
        let (pool, observer) = (database.pool(4), database.pool(1));
        Self {
            database,
            pool,
            observer,
        }
    }

    pub(crate) async fn furnish(database: idem_tests::mysql::Database) -> Self {
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("made");
        Self::of(database)
    }

    pub(crate) async fn run(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut self.database.connect().await)
            .await
            .expect("the server answers");
    }
}

impl LeaseDatabase for MySql {
    type Db = sqlx::MySql;

    async fn open() -> Self {
        Self::furnish(idem_tests::mysql::Database::fresh().await).await
    }

    fn pool(&self) -> MySqlPool {
        self.pool.clone()
    }

    async fn end_leases_in(&self, left: i64) {
        self.run(&format!(
            "UPDATE idem_record SET locked_until = \
             TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + {left} WHERE status = 3"
        ))
        .await;
    }

    async fn ends(&self) -> Vec<i64> {
        sqlx::query_scalar("SELECT locked_until FROM idem_record WHERE status = 3 ORDER BY `key`")
            .fetch_all(&self.observer)
            .await
            .expect("it can be read")
    }

    async fn only_status(&self) -> i16 {
        sqlx::query_scalar("SELECT status FROM idem_record")
            .fetch_one(&self.observer)
            .await
            .expect("it can be read")
    }

    async fn refuse_long_payloads(&self) {
        self.run(REFUSAL).await;
    }

    async fn refuse_second_record(&self) {
        self.run(&format!("{SECOND} {SECOND_ROW}")).await;
    }
}
