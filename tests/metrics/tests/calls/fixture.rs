//! A fresh database with the record's table.

use idem_runtime::schema;
use idem_runtime::store::LeaseBackend;
use idem_tests::sqlite::Journal;
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool, PgPool, Pool, SqlitePool};

pub(crate) trait Fixture: Sized {
    type Db: LeaseBackend;
    /// The migration of legal holds, and a hold on the scope of every record.
    const HOLD: &'static str;

    async fn open() -> Self;
    fn pool(&self) -> Pool<Self::Db>;
    async fn run(&self, statement: &str);
    /// Moves the expiry of every record an hour into the past.
    async fn expire(&self);
    /// Moves the end of every lease an hour into the past.
    async fn lapse(&self);
}

macro_rules! on {
    (
        $fixture:ident { $database:ty, $pool:ty, $db:ty }
        open: $open:expr, expire: $expire:literal, lapse: $lapse:literal, holds: $holds:literal $(,)?
    ) => {
        pub(crate) struct $fixture {
            database: $database,
            pool: $pool,
        }

        impl Fixture for $fixture {
            type Db = $db;

            const HOLD: &'static str = concat!(
                include_str!(concat!(
                    "../../../../idem-runtime/migrations/",
                    $holds,
                    "/0004_idem_hold.sql"
                )),
                "INSERT INTO idem_hold (scope, at, actor, reason) VALUES ('', ",
                $lapse,
                ", 'ada', 'case 9')"
            );

            async fn open() -> Self {
                let database: $database = $open;
                let mut conn = database.connect().await;
                schema::create_if_missing(&mut conn).await.expect("made");
                let pool = database.pool(4);
                Self { database, pool }
            }

            fn pool(&self) -> $pool {
                self.pool.clone()
            }

            async fn run(&self, statement: &str) {
                let mut conn = self.database.connect().await;
                conn.execute(sqlx::raw_sql(AssertSqlSafe(statement)))
                    .await
                    .unwrap_or_else(|error| panic!("{statement}: {error}"));
            }

            async fn expire(&self) {
                self.run(concat!(
                    "UPDATE idem_record SET expires_at = ",
                    $expire,
                    " WHERE status IN (1, 2, 5)"
                ))
                .await;
            }

            async fn lapse(&self) {
                self.run(concat!(
                    "UPDATE idem_record SET locked_until = ",
                    $lapse,
                    " WHERE status IN (3, 4)"
                ))
                .await;
            }
        }
    };
}

on! {
    Postgres { idem_tests::postgres::Database, PgPool, sqlx::Postgres }
    open: idem_tests::postgres::Database::fresh().await,
    expire: "clock_timestamp() - interval '1 hour'",
    lapse: "clock_timestamp() - interval '1 hour'",
    holds: "postgres",
}

on! {
    Sqlite { idem_tests::sqlite::Sqlite, SqlitePool, sqlx::Sqlite }
    open: idem_tests::sqlite::Sqlite::fresh(Journal::Wal),
    expire: "(unixepoch() - 3600) * 1000000",
    lapse: "(unixepoch() - 3600) * 1000000",
    holds: "sqlite",
}

on! {
    MySql { idem_tests::mysql::Database, MySqlPool, sqlx::MySql }
    open: idem_tests::mysql::Database::fresh().await,
    expire: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 3600000000",
    lapse: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 3600000000",
    holds: "mysql",
}
