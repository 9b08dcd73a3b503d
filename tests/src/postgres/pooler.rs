//! A database that is reached through a pooler in transaction mode.

use std::sync::OnceLock;

use idem_tests_cluster::Bouncer;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool};

use super::Database;

/// Server connections of each database behind the pooler.
const SERVERS: u32 = 3;

/// A static is never dropped; the pooler goes with the process.
static OF_THE_PROCESS: OnceLock<Bouncer> = OnceLock::new();
static WITH_ONE_SERVER: OnceLock<Bouncer> = OnceLock::new();

/// The way to a database through a PgBouncer with three open server connections to it, of which
/// each transaction gets another one than the last.
#[derive(Debug)]
pub struct Pooler(PgConnectOptions);

impl Pooler {
    /// Makes a database on the server of the run, and opens the way to it.
    ///
    /// # Panics
    ///
    /// There is no server or no PgBouncer on this machine.
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

    /// The options of a connection as a user sets them behind such a pooler: no statement is kept
    /// by name.
    pub fn options(&self) -> PgConnectOptions {
        self.0.clone().statement_cache_capacity(0)
    }

    /// The options of a user who has not been told: sqlx's own.
    pub fn careless_options(&self) -> PgConnectOptions {
        self.0.clone()
    }

    /// A pool by such options.
    pub fn pool(&self, max_connections: u32, options: PgConnectOptions) -> PgPool {
        PgPoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(options)
    }

    /// One connection through the pooler.
    ///
    /// # Panics
    ///
    /// It cannot be reached.
    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect_with(&self.options())
            .await
            .unwrap_or_else(|error| panic!("no connection through the pooler: {error}"))
    }

    /// Makes the pooler open all its server connections, by a transaction on each at a time.
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
