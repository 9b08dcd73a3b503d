//! MariaDB under the laws.

use idem_tests::mysql::Database;
use sqlx::{MySqlPool, Pool};

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
}
