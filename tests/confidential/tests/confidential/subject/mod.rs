//! What the laws need of a database.

mod mariadb;
mod postgres;
mod sqlite;

use std::fmt::Write as _;

use idem_runtime::operate::{OperateBackend, Operator, RecordDetail, RecordKey};
use idem_runtime::store::LeaseBackend;
use idem_runtime::{IdempotencyKey, Namespace};
use idem_tests::dialect::Dialect;
use sqlx::Pool;

pub(crate) use self::mariadb::MariaDb;
pub(crate) use self::postgres::Postgres;
pub(crate) use self::sqlite::Sqlite;

/// A fresh database with the table of the records and that of the audit.
pub(crate) trait Subject: Sized {
    type Db: LeaseBackend + OperateBackend + Dialect;
    /// The column `key`.
    const KEY: &'static str;
    /// The type of large integers in a cast.
    const BIG: &'static str;
    /// The database's clock, as a value of the columns of times.
    const NOW: &'static str = <Self::Db as Dialect>::NOW;

    async fn fresh() -> Self;
    fn pool(&self) -> &Pool<Self::Db>;
    /// Returns everything that the table holds, as one text, as a dump shows it, and in binary.
    async fn dump(&self) -> Vec<u8>;
    /// Writes bytes as a literal.
    fn literal(bytes: &[u8]) -> String;

    async fn run(&self, sql: &str) {
        Self::Db::run(self.pool(), sql).await;
    }

    async fn number(&self, sql: &str) -> i64 {
        Self::Db::number(self.pool(), sql).await
    }

    /// Returns one value of bytes.
    async fn bytes(&self, sql: &str) -> Vec<u8> {
        Self::Db::bytes(self.pool(), sql).await
    }

    async fn records(&self) -> i64 {
        self.number("SELECT count(*) FROM idem_record").await
    }

    /// Makes every lease end now.
    async fn lapse(&self) {
        let now = Self::NOW;
        let sql = format!("UPDATE idem_record SET locked_until = {now} WHERE status = 3");
        self.run(&sql).await;
    }

    /// Replaces a payload of the only record.
    async fn overwrite(&self, column: &str, payload: &[u8]) {
        let value = Self::literal(payload);
        self.run(&format!("UPDATE idem_record SET {column} = {value}"))
            .await;
    }

    /// Returns a payload of the only record.
    async fn payload(&self, column: &str) -> Vec<u8> {
        self.bytes(&format!("SELECT {column} FROM idem_record"))
            .await
    }

    fn operator(&self) -> Operator<Self::Db> {
        Operator::new(self.pool().clone())
    }

    /// Shows the record of a key, as the table names it.
    async fn show(&self, key: &IdempotencyKey) -> Option<RecordDetail> {
        let scope = key.scope().expect("a scope").clone();
        let name = RecordKey::new(Namespace::from_static("payments"), scope, key);
        self.operator()
            .show(&name)
            .await
            .expect("the table is there")
    }
}

/// Returns bytes in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
