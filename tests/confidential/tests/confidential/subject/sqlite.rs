//! SQLite under the laws.

use std::fs;

use idem_runtime::operate::schema as audit;
use idem_runtime::schema;
use idem_tests::sqlite::{self, Journal};
use sqlx::{Pool, SqlitePool};

use super::{Subject, hex};

pub(crate) struct Sqlite {
    file: sqlite::Sqlite,
    pool: SqlitePool,
}

impl Subject for Sqlite {
    type Db = sqlx::Sqlite;

    const KEY: &'static str = "key";
    const BIG: &'static str = "INTEGER";

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
