//! PostgreSQL under the laws.

use idem_runtime::operate::schema as audit;
use idem_runtime::schema;
use idem_tests::postgres::Database;
use sqlx::{PgPool, Pool};

use super::{Subject, hex};

pub(crate) struct Postgres {
    _database: Database,
    pool: PgPool,
}

impl Subject for Postgres {
    type Db = sqlx::Postgres;

    const KEY: &'static str = "key";
    const BIG: &'static str = "bigint";

    async fn fresh() -> Self {
        let database = Database::fresh().await;
        let pool = database.pool(4);
        let subject = Self {
            _database: database,
            pool,
        };
        subject.run(schema::postgres()).await;
        subject.run(audit::postgres()).await;
        subject
    }

    fn pool(&self) -> &Pool<sqlx::Postgres> {
        &self.pool
    }

    async fn dump(&self) -> Vec<u8> {
        let rows: Vec<String> = sqlx::query_scalar(
            "SELECT r::text || encode(coalesce(request, '') || coalesce(result, '') \
             || coalesce(failure, ''), 'escape') FROM idem_record AS r",
        )
        .fetch_all(&self.pool)
        .await
        .expect("the table is there");
        rows.join("\n").into_bytes()
    }

    fn literal(bytes: &[u8]) -> String {
        format!("decode('{}', 'hex')", hex(bytes))
    }
}
