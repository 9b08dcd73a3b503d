//! SQLite: a file that the processes share, with a write-ahead log. Nothing is between them and the file.

use std::str::FromStr as _;
use std::time::Duration;

use idem_messaging::{outbox, versions};
use idem_runtime::schema;
use idem_tests::sqlite::{Journal, Sqlite as Database};
use idem_tests::torture::Fault;
use idem_tests::torture::link::Link;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteTransaction};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::{Engine, read_tables};
use crate::torture::desk::desk;
use crate::torture::evidence::{Effect, Row, Tables};
use crate::torture::fact::Fact;
use crate::torture::nemesis::{BLOWS_WITHOUT_SERVER, Blow, Role};
use crate::torture::statements::{PENDING, tables};

desk!(SqlitePool, SqliteTransaction<'_>);

/// The file.
#[derive(Debug)]
pub struct Sqlite(Database);

impl Engine for Sqlite {
    const NAME: &'static str = "sqlite";
    const BLOWS: &'static [Blow] = &BLOWS_WITHOUT_SERVER;
    type Database = sqlx::Sqlite;
    type Desk = SqlitePool;

    fn pool(url: &str, connections: u32) -> Result<SqlitePool, Fault> {
        let options = SqliteConnectOptions::from_str(url)?.busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5));
        Ok(pool.connect_lazy_with(options))
    }

    async fn start() -> Result<Self, Fault> {
        let database = Database::fresh(Journal::Wal);
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await?;
        outbox::schema::create_if_missing(&mut conn).await?;
        conn.execute(sqlx::raw_sql(versions::schema::sqlite()))
            .await?;
        for statement in tables("INTEGER PRIMARY KEY AUTOINCREMENT") {
            conn.execute(AssertSqlSafe(statement)).await?;
        }
        Ok(Self(database))
    }

    fn url(&self, _: Role) -> String {
        self.0.url()
    }

    fn link(&self, _: Role) -> Option<&Link> {
        None
    }

    async fn strike(&self, blow: Blow) -> Result<(), Fault> {
        Err(format!("{blow} is no fault of a file").into())
    }

    async fn pending(&self) -> Result<u64, Fault> {
        let mut conn = self.0.connect().await;
        let pending: i64 = sqlx::query_scalar(PENDING).fetch_one(&mut conn).await?;
        Ok(pending.unsigned_abs())
    }

    async fn tables(&self) -> Result<Tables, Fault> {
        let mut conn = self.0.connect().await;
        read_tables!(conn, "id", "last_error")
    }
}
