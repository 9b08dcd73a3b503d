//! SQLite under the laws.

use idem_tests::sqlite::{self, Journal};
use sqlx::{AssertSqlSafe, Executor as _, Pool, SqlitePool};

use super::{Subject, migrations};

pub(crate) struct Sqlite {
    file: sqlite::Sqlite,
    pool: SqlitePool,
}

impl Subject for Sqlite {
    type Db = sqlx::Sqlite;

    const DATABASE: &'static str = "sqlite";
    const HOUR: &'static str = "3600000000";
    const NOW: &'static str =
        "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)";

    async fn fresh() -> Self {
        let file = sqlite::Sqlite::fresh(Journal::Wal);
        let pool = file.pool(4);
        let subject = Self { file, pool };
        subject.run(&migrations(Self::DATABASE)).await;
        subject
    }

    fn pool(&self) -> &Pool<sqlx::Sqlite> {
        &self.pool
    }

    fn url(&self) -> String {
        self.file.url()
    }

    async fn refuse_the_audit_of(&self, table: &str) {
        let sql = format!(
            "CREATE TRIGGER refused BEFORE INSERT ON idem_audit WHEN NEW.on_table = '{table}' \
             BEGIN SELECT raise(ABORT, 'refused'); END"
        );
        self.run(&sql).await;
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
}
