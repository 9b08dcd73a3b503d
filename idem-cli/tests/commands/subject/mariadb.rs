//! MariaDB under the laws.

use idem_tests::mysql::Database;
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool, Pool};

use super::{Subject, migrations};

pub(crate) struct MariaDb {
    database: Database,
    pool: MySqlPool,
}

impl MariaDb {
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

impl Subject for MariaDb {
    type Db = sqlx::MySql;

    const DATABASE: &'static str = "mysql";
    const HOUR: &'static str = "3600000000";
    const NOW: &'static str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

    async fn fresh() -> Self {
        let database = Database::fresh().await;
        let pool = database.pool(4);
        let subject = Self { database, pool };
        subject.run(&migrations(Self::DATABASE)).await;
        subject
    }

    fn pool(&self) -> &Pool<sqlx::MySql> {
        &self.pool
    }

    fn url(&self) -> String {
        self.database.url()
    }

    async fn refuse_the_audit_of(&self, table: &str) {
        let sql = format!("ALTER TABLE idem_audit ADD CHECK (on_table <> '{table}')");
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
