//! SQLite under the laws.

use std::fs;

use idem_runtime::operate::schema as audit;
use idem_runtime::schema;
use idem_tests::sqlite::{self, Journal};
use sqlx::{AssertSqlSafe, Executor as _, Pool, SqlitePool};

use super::{Subject, hex};

pub(crate) struct Sqlite {
    file: sqlite::Sqlite,
    pool: SqlitePool,
}

impl Subject for Sqlite {
    type Db = sqlx::Sqlite;

    const KEY: &'static str = "key";
    const BIG: &'static str = "INTEGER";
    const NOW: &'static str =
        "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)";

    async fn fresh() -> Self {
        let file = sqlite::Sqlite::fresh(Journal::Wal);
        let pool = file.pool(4);
        let subject = Self { file, pool };
        subject.run(schema::sqlite()).await;
        subject.run(audit::sqlite()).await;
        subject
    }

    fn pool(&self) -> &Pool<sqlx::Sqlite> {
        &self.pool
    }

    async fn run(&self, sql: &str) {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let done = self.pool.execute(statement).await;
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    async fn number(&self, sql: &str) -> i64 {
        let number = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&self.pool)
            .await;
        number.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    async fn bytes(&self, sql: &str) -> Vec<u8> {
        let bytes = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&self.pool)
            .await;
        bytes.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// All files of the database: the write-ahead log, too.
    async fn dump(&self) -> Vec<u8> {
        let files = fs::read_dir(self.file.dir()).expect("a directory");
        let files = files.map(|entry| fs::read(entry.expect("an entry").path()).expect("a file"));
        files.collect::<Vec<_>>().concat()
    }

    fn literal(bytes: &[u8]) -> String {
        format!("x'{}'", hex(bytes))
    }
}
