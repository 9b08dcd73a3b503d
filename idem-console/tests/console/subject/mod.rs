//! What the laws need of a database.

mod mariadb;
mod postgres;
mod sqlite;

use idem_console::ConsoleDatabase;
use idem_runtime::operate::Operator;
use idem_runtime::store::LeaseSession;
use idem_tests::dialect::Dialect;
use sqlx::Pool;

pub(crate) use self::mariadb::MariaDb;
pub(crate) use self::postgres::Postgres;
pub(crate) use self::sqlite::Sqlite;

/// A fresh database with the tables of records, events and changes.
pub(crate) trait Subject: Sized + Send + Sync {
    type Db: ConsoleDatabase<Connection: LeaseSession> + Dialect;
    /// One hour, as a value of the columns of times.
    const HOUR: &'static str = <Self::Db as Dialect>::HOUR;
    /// The database's clock, in the same form.
    const NOW: &'static str = <Self::Db as Dialect>::NOW;

    async fn fresh() -> Self;
    fn pool(&self) -> &Pool<Self::Db>;
    /// A pool for a database that nobody serves.
    fn dead_pool() -> Pool<Self::Db>;
    /// Writes ended records: `rows` in each of the hours that begin 1 to `hours` hours ago, spread over the hour, every tenth
    /// of them a failure. Their retention is a day.
    async fn fill(&self, hours: u32, rows: u32);
    /// Returns a pool that counts, and what it has read of the table so far: rows, or steps of the database's machine.
    async fn counting(&self) -> Pool<Self::Db>;
    async fn read_so_far(&self, counting: &Pool<Self::Db>) -> u64;
    /// The most that a page may read, whatever the size of the table.
    const BOUND: u64;

    async fn run(&self, sql: &str) {
        Self::Db::run(self.pool(), sql).await;
    }

    async fn number(&self, sql: &str) -> i64 {
        Self::Db::number(self.pool(), sql).await
    }

    /// Makes every lease end now.
    async fn lapse(&self) {
        let sql = format!(
            "UPDATE idem_record SET locked_until = {} WHERE status = 3",
            Self::NOW
        );
        self.run(&sql).await;
    }

    fn operator(&self) -> Operator<Self::Db> {
        Operator::new(self.pool().clone())
    }
}
