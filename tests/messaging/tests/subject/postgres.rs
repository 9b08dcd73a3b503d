//! PostgreSQL under the laws.

use std::time::Duration;

use idem_messaging::outbox::schema;
use idem_runtime::record::Timestamp;
use idem_tests::postgres::Database;
use sqlx::{AssertSqlSafe, Executor as _, PgPool};

use super::{ConcurrentSubject, Subject};

pub(crate) struct Postgres {
    pub(crate) database: Database,
    pool: PgPool,
}

impl Postgres {
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

impl Subject for Postgres {
    type Db = sqlx::Postgres;

    async fn fresh() -> Self {
        Self::of(Database::fresh().await).await
    }

    fn pool(&self) -> &PgPool {
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
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        Timestamp::from_micros(self.number(sql).await)
    }

    async fn pass_time(&self) {
        self.run(
            "UPDATE idem_outbox SET due_at = clock_timestamp() - interval '1 hour', \
             lease_ends_at = CASE WHEN claim_token IS NOT NULL THEN clock_timestamp() - interval '1 hour' END WHERE state = 0",
        )
        .await;
    }

    async fn age(&self, by: Duration) {
        let micros = by.as_micros();
        self.run(&format!(
            "UPDATE idem_outbox SET settled_at = settled_at - {micros} * interval '1 microsecond' WHERE settled_at IS NOT NULL"
        ))
        .await;
    }
}

impl ConcurrentSubject for Postgres {
    async fn until_blocked(&self) {
        self.database.observer().await.until_blocked(1).await;
    }
}
