//! PostgreSQL under the laws.

use idem_tests::postgres::Database;
use sqlx::{PgPool, Pool};

use super::{Subject, migrations};

pub(crate) struct Postgres {
    database: Database,
    pool: PgPool,
}

impl Postgres {
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

impl Subject for Postgres {
    type Db = sqlx::Postgres;

    const DATABASE: &'static str = "postgres";

    async fn fresh() -> Self {
        let database = Database::fresh().await;
        let pool = database.pool(4);
        let subject = Self { database, pool };
        subject.run(&migrations(Self::DATABASE)).await;
        subject
    }

    fn pool(&self) -> &Pool<sqlx::Postgres> {
        &self.pool
    }

    fn url(&self) -> String {
        self.database.url()
    }

    async fn refuse_the_audit_of(&self, table: &str) {
        let sql = format!("ALTER TABLE idem_audit ADD CHECK (on_table <> '{table}') NOT VALID");
        self.run(&sql).await;
    }
}
