//! A fresh database with the record's table and one for effects.

use idem_runtime::schema;
use idem_runtime::store::LeaseBackend;
use idem_tests::sqlite::Journal;
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool, PgPool, Pool, SqlitePool, Transaction};

/// The table of effects, with a unique note; PostgreSQL and SQLite check it only at COMMIT.
const EFFECTS: &str = "CREATE TABLE effect (note varchar(200) NOT NULL)";

pub(crate) trait Fixture: Sized {
    type Db: LeaseBackend;
    /// Whether a failed statement aborts the transaction.
    const ABORTS: bool;
    /// The operation of the test on counts, which are counted per process.
    const COUNTED: &'static str;
    /// Makes the database refuse a completed record and quote the row.
    const QUOTING: &'static [&'static str];
    /// Makes the database refuse an effect at COMMIT, if it can.
    const AT_COMMIT: &'static [&'static str];

    async fn open() -> Self;
    fn pool(&self) -> Pool<Self::Db>;
    async fn run(&self, statements: &[&str]);
    async fn execute(tx: &mut Transaction<'_, Self::Db>, sql: &str) -> Result<(), sqlx::Error>;
    /// Returns the number of committed effects and records.
    async fn counts(&self) -> (i64, i64);
}

/// Writes an effect with this note.
pub(crate) async fn write<P: Fixture>(
    tx: &mut Transaction<'_, P::Db>,
    note: &str,
) -> Result<(), sqlx::Error> {
    P::execute(tx, &format!("INSERT INTO effect (note) VALUES ('{note}')")).await
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM effect), (SELECT count(*) FROM idem_record)";

macro_rules! on {
    (
        $fixture:ident { $database:ty, $pool:ty, $db:ty }
        open: $open:expr, pool: $options:expr, counted: $counted:literal, aborts: $aborts:literal,
        quoting: $quoting:expr, at_commit: $at_commit:expr $(,)?
    ) => {
        pub(crate) struct $fixture {
            database: $database,
            pool: $pool,
        }

        impl Fixture for $fixture {
            type Db = $db;
            const ABORTS: bool = $aborts;
            const COUNTED: &'static str = $counted;
            const QUOTING: &'static [&'static str] = $quoting;
            const AT_COMMIT: &'static [&'static str] = $at_commit;

            async fn open() -> Self {
                let database: $database = $open;
                let mut conn = database.connect().await;
                schema::create_if_missing(&mut conn).await.expect("made");
                conn.execute(EFFECTS).await.expect("made");
                let pool = $options(&database);
                Self { database, pool }
            }

            fn pool(&self) -> $pool {
                self.pool.clone()
            }

            async fn run(&self, statements: &[&str]) {
                let mut conn = self.database.connect().await;
                for statement in statements {
                    conn.execute(sqlx::raw_sql(AssertSqlSafe(*statement)))
                        .await
                        .unwrap_or_else(|error| panic!("{statement}: {error}"));
                }
            }

            async fn execute(tx: &mut Transaction<'_, $db>, sql: &str) -> Result<(), sqlx::Error> {
                tx.execute(sqlx::raw_sql(AssertSqlSafe(sql)))
                    .await
                    .map(drop)
            }

            async fn counts(&self) -> (i64, i64) {
                let mut conn = self.database.connect().await;
                let counts = sqlx::query_as(COUNTS).fetch_one(&mut conn).await;
                counts.expect("the database can be read")
            }
        }
    };
}

const QUOTING_ON_POSTGRES: &[&str] =
    &["ALTER TABLE idem_record ADD CONSTRAINT vain CHECK (status <> 1 AND status <> 2)"];
const AT_COMMIT_ON_POSTGRES: &[&str] =
    &["ALTER TABLE effect ADD CONSTRAINT once UNIQUE (note) DEFERRABLE INITIALLY DEFERRED"];

on! {
    Postgres { idem_tests::postgres::Database, PgPool, sqlx::Postgres }
    open: idem_tests::postgres::Database::fresh().await,
    pool: |database: &idem_tests::postgres::Database| database.pool(4),
    counted: "counted_on_postgres",
    aborts: true,
    quoting: QUOTING_ON_POSTGRES,
    at_commit: AT_COMMIT_ON_POSTGRES,
}

on! {
    Unfused { idem_tests::postgres::Database, PgPool, sqlx::Postgres }
    open: idem_tests::postgres::Database::fresh().await,
    pool: |database: &idem_tests::postgres::Database| {
        let options = database.options().clone().options([("idem.fused", "off")]);
        sqlx::postgres::PgPoolOptions::new().max_connections(4).connect_lazy_with(options)
    },
    counted: "counted_on_postgres_unfused",
    aborts: true,
    quoting: QUOTING_ON_POSTGRES,
    at_commit: AT_COMMIT_ON_POSTGRES,
}

on! {
    Sqlite { idem_tests::sqlite::Sqlite, SqlitePool, sqlx::Sqlite }
    open: idem_tests::sqlite::Sqlite::fresh(Journal::Wal),
    pool: |database: &idem_tests::sqlite::Sqlite| database.pool(4),
    counted: "counted_on_sqlite",
    aborts: false,
    // SQLite itself quotes no row.
    quoting: &[
        "CREATE TRIGGER vain AFTER INSERT ON idem_record WHEN NEW.status IN (1, 2) \
         BEGIN SELECT raise(ABORT, 'row (key-of-ada, 4815162342, \"4111-1111\") is refused'); END",
        "CREATE TRIGGER vain_too AFTER UPDATE ON idem_record WHEN NEW.status IN (1, 2) \
         BEGIN SELECT raise(ABORT, 'row (key-of-ada, 4815162342, \"4111-1111\") is refused'); END",
    ],
    at_commit: &[
        "CREATE TABLE note (note text PRIMARY KEY)",
        "DROP TABLE effect",
        "CREATE TABLE effect (note text NOT NULL REFERENCES note DEFERRABLE INITIALLY DEFERRED)",
    ],
}

on! {
    MySql { idem_tests::mysql::Database, MySqlPool, sqlx::MySql }
    open: idem_tests::mysql::Database::fresh().await,
    pool: |database: &idem_tests::mysql::Database| database.pool(4),
    counted: "counted_on_mysql",
    aborts: false,
    // "Duplicate entry 'key-of-ada' for key 'PRIMARY'".
    quoting: &[
        "CREATE TABLE taken (`key` varbinary(1020) PRIMARY KEY)",
        "INSERT INTO taken VALUES ('key-of-ada')",
        "CREATE TRIGGER vain AFTER INSERT ON idem_record FOR EACH ROW \
         BEGIN IF NEW.status IN (1, 2) THEN INSERT INTO taken VALUES (NEW.`key`); END IF; END",
        "CREATE TRIGGER vain_too AFTER UPDATE ON idem_record FOR EACH ROW \
         BEGIN IF NEW.status IN (1, 2) THEN INSERT INTO taken VALUES (NEW.`key`); END IF; END",
    ],
    // MySQL has no deferred constraints.
    at_commit: &[],
}
