//! SQLite under the laws.

use idem_tests::sqlite::{self, Journal};
use sqlx::{Pool, SqlitePool};

use super::{Subject, migrations};

pub(crate) struct Sqlite {
    file: sqlite::Sqlite,
    pool: SqlitePool,
}

impl Subject for Sqlite {
    type Db = sqlx::Sqlite;

    const DATABASE: &'static str = "sqlite";

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
}
