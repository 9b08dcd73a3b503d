//! MariaDB under the laws.

use std::time::Duration;

use idem_messaging::outbox::schema;
use idem_runtime::record::Timestamp;
use idem_tests::mysql::Database;
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool};

use super::{ConcurrentSubject, Subject};

const NOW: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

pub(crate) struct MySql {
    pub(crate) database: Database,
    pool: MySqlPool,
}

impl MySql {
    /// Creates the tables in a database that has none.
    pub(crate) async fn of(database: Database) -> Self {
        let pool = database.pool(8);
        let mut conn = pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut *conn)
            .await
            .expect("the tables");
        drop(conn);
        Self { database, pool }
    }
}

impl Subject for MySql {
    type Db = sqlx::MySql;

    async fn fresh() -> Self {
        Self::of(Database::fresh().await).await
    }

    fn pool(&self) -> &MySqlPool {
        &self.pool
    }

    async fn run(&self, sql: &str) -> u64 {
        let done = self.pool.execute(AssertSqlSafe(sql.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{sql}: {error}"))
            .rows_affected()
    }

    async fn number(&self, sql: &str) -> i64 {
        let number = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&self.pool)
            .await;
        number.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    async fn now(&self) -> Timestamp {
        let sql = &format!("SELECT {NOW}");
        Timestamp::from_micros(self.number(sql).await)
    }

    async fn pass_time(&self) {
        let sql = format!("UPDATE idem_outbox SET due_at = {NOW} - 3600000000 WHERE state = 0");
        self.run(&sql).await;
    }

    async fn drop_index(&self, name: &str) {
        self.run(&format!("DROP INDEX {name} ON idem_outbox")).await;
    }

    async fn age(&self, by: Duration) {
        let micros = by.as_micros();
        self.run(&format!(
            "UPDATE idem_outbox SET settled_at = settled_at - {micros} WHERE settled_at IS NOT NULL"
        ))
        .await;
    }
}

impl ConcurrentSubject for MySql {
    async fn until_blocked(&self) {
        self.database.observer().await.until_blocked(1).await;
    }
}
