//! A database behind a pooler in transaction mode.

use std::sync::OnceLock;

use idem_tests_cluster::Bouncer;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool};

use super::Database;

/// Server connections of each database behind the pooler.
const SERVERS: u32 = 3;

/// A static is never dropped; the pooler ends with the process.
static OF_THE_PROCESS: OnceLock<Bouncer> = OnceLock::new();
static WITH_ONE_SERVER: OnceLock<Bouncer> = OnceLock::new();

/// Access to a database through a PgBouncer with three open server connections. Each transaction
/// gets another server connection than the previous one.
#[derive(Debug)]
pub struct Pooler(PgConnectOptions);

impl Pooler {
    /// Creates a database on the run's server, and opens access to it.
    ///
    /// # Panics
    ///
    /// Panics if there is no server or no PgBouncer on this machine.
    pub async fn fresh() -> (Database, Self) {
        Self::by(&OF_THE_PROCESS, SERVERS).await
    }

    /// Makes a database likewise, to which the pooler has one connection, shared by all clients.
    ///
    /// # Panics
    ///
    /// There is no server or no PgBouncer on this machine.
    pub async fn with_one_server() -> (Database, Self) {
        Self::by(&WITH_ONE_SERVER, 1).await
    }

    async fn by(bouncer: &OnceLock<Bouncer>, servers: u32) -> (Database, Self) {
        let database = Database::fresh_on_ours().await;
        let bouncer = bouncer.get_or_init(|| {
            Bouncer::start(database.options().get_port(), servers)
                .unwrap_or_else(|error| panic!("no pooler: {error}"))
        });
        let pooler = Self(database.options().clone().port(bouncer.port()));
        pooler.occupy_all(servers).await;
        (database, pooler)
    }

    /// Returns the connection options that such a pooler requires: no named statement is kept.
    pub fn options(&self) -> PgConnectOptions {
        self.0.clone().statement_cache_capacity(0)
    }

    /// Returns sqlx's default options, as a user would who does not know about the pooler.
    pub fn careless_options(&self) -> PgConnectOptions {
        self.0.clone()
    }

    /// Returns a pool with these options.
    pub fn pool(&self, max_connections: u32, options: PgConnectOptions) -> PgPool {
        PgPoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(options)
    }

    /// Opens a connection through the pooler.
    ///
    /// # Panics
    ///
    /// Panics if the pooler cannot be reached.
    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect_with(&self.options())
            .await
            .unwrap_or_else(|error| panic!("cannot connect through the pooler: {error}"))
    }

    /// Makes the pooler open all its server connections, by concurrent transactions.
    async fn occupy_all(&self, servers: u32) {
        let mut clients = Vec::new();
        for _ in 0..servers {
            let mut client = self.connect().await;
            client.execute("BEGIN").await.expect("a server connection");
            clients.push(client);
        }
        for mut client in clients {
            client.execute("ROLLBACK").await.expect("it still answers");
            client.close().await.expect("it still answers");
        }
    }
}
