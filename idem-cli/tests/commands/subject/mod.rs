//! What the laws need of a database.

mod mariadb;
mod postgres;
mod sqlite;

use std::process::Command;

use idem_messaging::outbox::OutboxDatabase;
use idem_runtime::operate::{OperateBackend, Operator};
use idem_runtime::store::LeaseSession;
use idem_tests::dialect::Dialect;
use sqlx::Pool;

pub(crate) use self::mariadb::MariaDb;
pub(crate) use self::postgres::Postgres;
pub(crate) use self::sqlite::Sqlite;

/// A fresh database with all tables that the program prints.
pub(crate) trait Subject: Sized {
    type Db: OperateBackend<Connection: LeaseSession> + OutboxDatabase + Dialect;
    /// The name of the database in `schema print --database`.
    const DATABASE: &'static str;
    /// One hour, as a value of the columns of times.
    const HOUR: &'static str = <Self::Db as Dialect>::HOUR;
    /// The database's clock, in the same form.
    const NOW: &'static str = <Self::Db as Dialect>::NOW;

    async fn fresh() -> Self;
    fn pool(&self) -> &Pool<Self::Db>;
    fn url(&self) -> String;

    /// Makes the audit table refuse every change of this table.
    async fn refuse_the_audit_of(&self, table: &str);

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

    /// Moves the times of every record that is no lease `hours` into the past.
    async fn age(&self, hours: u32) {
        let sql = format!(
            "UPDATE idem_record SET created_at = created_at - {hours} * {hour}, \
             expires_at = expires_at - {hours} * {hour} WHERE status IN (1, 2, 5)",
            hour = Self::HOUR
        );
        self.run(&sql).await;
    }

    fn operator(&self) -> Operator<Self::Db> {
        Operator::new(self.pool().clone())
    }
}

/// Returns the migrations as the program prints them.
pub(crate) fn migrations(database: &str) -> String {
    let printed = Command::new(env!("CARGO_BIN_EXE_idem"))
        .args(["schema", "print", "--database", database])
        .env_remove("DATABASE_URL")
        .output()
        .expect("the program runs");
    assert!(printed.status.success(), "{printed:?}");
    String::from_utf8(printed.stdout).expect("text")
}
