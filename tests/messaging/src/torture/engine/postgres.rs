//! PostgreSQL: a separate server for the run, behind links that can fail.

use std::str::FromStr as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_messaging::{outbox, versions};
use idem_runtime::schema;
use idem_tests::postgres::{Cluster, Database, Options};
use idem_tests::proxy::Route as _;
use idem_tests::torture::Fault;
use idem_tests::torture::link::Link;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgTransaction};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _};
use tokio::task::block_in_place;

use super::{Engine, read_tables};
use crate::torture::desk::desk;
use crate::torture::evidence::{Effect, Row, Tables};
use crate::torture::fact::Fact;
use crate::torture::nemesis::{BLOWS, Blow, Role};
use crate::torture::statements::{PENDING, tables};

desk!(PgPool, PgTransaction<'_>);

/// The server, its database and the links to it.
#[derive(Debug)]
pub struct Postgres {
    cluster: Mutex<Cluster>,
    database: Database,
    callers: Link,
    relays: Link,
    consumers: Link,
}

impl Engine for Postgres {
    const NAME: &'static str = "postgres";
    const BLOWS: &'static [Blow] = &BLOWS;
    type Database = sqlx::Postgres;
    type Desk = PgPool;

    fn pool(url: &str, connections: u32) -> Result<PgPool, Fault> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5));
        Ok(pool.connect_lazy(url)?)
    }

    async fn start() -> Result<Self, Fault> {
        let cluster = block_in_place(|| Cluster::start(Options::new().durable()))?;
        let database = Database::fresh_on(&cluster).await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await?;
        outbox::schema::create_if_missing(&mut conn).await?;
        conn.execute(sqlx::raw_sql(versions::schema::postgres()))
            .await?;
        for statement in tables("bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY") {
            conn.execute(AssertSqlSafe(statement)).await?;
        }
        let server = PgConnectOptions::from_str(&database.url())?;
        let link = || Link::to(server.target(), PgConnectOptions::COMMIT);
        Ok(Self {
            callers: link().await?,
            relays: link().await?,
            consumers: link().await?,
            cluster: Mutex::new(cluster),
            database,
        })
    }

    fn url(&self, role: Role) -> String {
        let options = self.database.options().by(self.link_of(role).port());
        options.to_url_lossy().to_string()
    }

    fn link(&self, role: Role) -> Option<&Link> {
        Some(self.link_of(role))
    }

    async fn strike(&self, blow: Blow) -> Result<(), Fault> {
        match blow {
            Blow::Crash => block_in_place(|| {
                let mut cluster = self.cluster();
                cluster.stop_immediate()?;
                cluster.resume()
            })?,
            Blow::Restart => block_in_place(|| self.cluster().restart())?,
            Blow::Terminate => {
                self.database.observer().await.terminate_others().await;
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
        read_tables!(conn, "id", "last_error")
    }
}

impl Postgres {
    fn link_of(&self, role: Role) -> &Link {
        match role {
            Role::Caller => &self.callers,
            Role::Relay => &self.relays,
            Role::Consumer => &self.consumers,
        }
    }

    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
