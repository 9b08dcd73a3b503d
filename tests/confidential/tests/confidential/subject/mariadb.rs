//! MariaDB under the laws.

use idem_runtime::operate::schema as audit;
use idem_runtime::schema;
use idem_tests::mysql::Database;
use sqlx::{MySqlPool, Pool};

use super::{Subject, hex};

pub(crate) struct MariaDb {
    _database: Database,
    pool: MySqlPool,
}

impl Subject for MariaDb {
    type Db = sqlx::MySql;

    const KEY: &'static str = "`key`";
    const BIG: &'static str = "SIGNED";

    async fn fresh() -> Self {
        let database = Database::fresh().await;
        let pool = database.pool(4);
        let subject = Self {
            _database: database,
            pool,
        };
        subject.run(schema::mysql()).await;
        subject.run(audit::mysql()).await;
        subject
    }

    fn pool(&self) -> &Pool<sqlx::MySql> {
        &self.pool
    }

    async fn dump(&self) -> Vec<u8> {
        let rows: Vec<Vec<u8>> = sqlx::query_scalar(
            "SELECT CAST(concat(scope, '|', `key`, '|', coalesce(request, ''), coalesce(result, ''), \
             coalesce(failure, '')) AS BINARY) FROM idem_record",
        )
        .fetch_all(&self.pool)
        .await
        .expect("the table is there");
        rows.concat()
    }

    fn literal(bytes: &[u8]) -> String {
        format!("x'{}'", hex(bytes))
    }
}
