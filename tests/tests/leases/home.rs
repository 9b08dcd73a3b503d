//! Where the mails' records are kept.

use idem_runtime::record::{Record, Status};
use idem_runtime::store::{LeaseBackend, LeaseSession, RawStore, Store};
use idem_runtime::{IdempotencyKey, Namespace, schema};
use idem_tests::postgres::Database;
use idem_tests::sqlite::Journal;
use sqlx::{PgPool, Pool, SqlitePool};

/// A fresh database with the record's table.
pub(crate) trait Home: Sized {
    type Db: LeaseBackend;

    async fn open() -> Self;
    fn pool(&self) -> Pool<Self::Db>;
    /// Moves the end of every lease to so many microseconds from now.
    async fn end_leases_in(&self, left: i64);

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

pub(crate) struct Postgres {
    pub(crate) database: Database,
    pub(crate) pool: PgPool,
}

impl Home for Postgres {
    type Db = sqlx::Postgres;

    async fn open() -> Self {
        let database = Database::fresh().await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("made");
        let pool = database.pool(4);
        Self { database, pool }
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
}

pub(crate) struct Sqlite {
    pub(crate) database: idem_tests::sqlite::Sqlite,
    pub(crate) pool: SqlitePool,
}

impl Home for Sqlite {
    type Db = sqlx::Sqlite;

    async fn open() -> Self {
        let database = idem_tests::sqlite::Sqlite::fresh(Journal::Wal);
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("made");
        let pool = database.pool(4);
        Self { database, pool }
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
}
