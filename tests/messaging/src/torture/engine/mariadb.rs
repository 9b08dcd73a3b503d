//! MariaDB: a separate server for the run, behind links that can fail.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_messaging::{outbox, versions};
use idem_runtime::schema;
use idem_tests::mysql::{Database, Options, Server};
use idem_tests::proxy::Route as _;
use idem_tests::torture::Fault;
use idem_tests::torture::link::Link;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions, MySqlTransaction};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _};
use tokio::task::block_in_place;

use super::{Engine, read_tables};
use crate::torture::desk::desk;
use crate::torture::evidence::{Effect, Row, Tables};
use crate::torture::fact::Fact;
use crate::torture::nemesis::{BLOWS, Blow, Role};
use crate::torture::statements::{PENDING, tables};

desk!(MySqlPool, MySqlTransaction<'_>);

/// The server, its database and the links to it.
#[derive(Debug)]
pub struct Mariadb {
    server: Mutex<Server>,
    database: Database,
    callers: Link,
    relays: Link,
    consumers: Link,
}

impl Engine for Mariadb {
    const NAME: &'static str = "mariadb";
    const BLOWS: &'static [Blow] = &BLOWS;
    type Database = sqlx::MySql;
    type Desk = MySqlPool;

    fn pool(url: &str, connections: u32) -> Result<MySqlPool, Fault> {
        let pool = MySqlPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5));
        Ok(pool.connect_lazy(url)?)
    }

    async fn start() -> Result<Self, Fault> {
        // A crash of the server must not lose a commit that was answered.
        let options = Options::new().set("innodb_flush_log_at_trx_commit", "1");
        let server = block_in_place(|| Server::start(&options))?;
        let database = Database::fresh_on(&server).await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await?;
        outbox::schema::create_if_missing(&mut conn).await?;
        conn.execute(sqlx::raw_sql(versions::schema::mysql()))
            .await?;
        for statement in tables("bigint NOT NULL AUTO_INCREMENT PRIMARY KEY") {
            conn.execute(AssertSqlSafe(statement)).await?;
        }
        let target = ("127.0.0.1".to_owned(), server.port());
        let link = || Link::to(target.clone(), MySqlConnectOptions::COMMIT);
        Ok(Self {
            callers: link().await?,
            relays: link().await?,
            consumers: link().await?,
            server: Mutex::new(server),
            database,
        })
    }

    fn url(&self, role: Role) -> String {
        let options = self.database.options();
        let port = self.link_of(role).port();
        options.by(port).to_url_lossy().to_string()
    }

    fn link(&self, role: Role) -> Option<&Link> {
        Some(self.link_of(role))
    }

    async fn strike(&self, blow: Blow) -> Result<(), Fault> {
        match blow {
            Blow::Crash => block_in_place(|| {
                let mut server = self.server();
                server.kill()?;
                server.resume()
            })?,
            Blow::Restart => block_in_place(|| {
                let mut server = self.server();
                server.stop()?;
                server.resume()
            })?,
            Blow::Terminate => {
                self.database.observer().await.kill_others().await;
            }
            blow => return Err(format!("{blow} is no fault of the database").into()),
        }
        Ok(())
    }

    async fn pending(&self) -> Result<u64, Fault> {
        let mut conn = self.database.connect().await;
        let pending: i64 = sqlx::query_scalar(PENDING).fetch_one(&mut conn).await?;
        Ok(pending.unsigned_abs())
    }

    async fn tables(&self) -> Result<Tables, Fault> {
        let mut conn = self.database.connect().await;
        read_tables!(conn, "CAST(id AS CHAR)", "CAST(last_error AS CHAR)")
    }
}

impl Mariadb {
    fn link_of(&self, role: Role) -> &Link {
        match role {
            Role::Caller => &self.callers,
            Role::Relay => &self.relays,
            Role::Consumer => &self.consumers,
        }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
