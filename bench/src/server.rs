//! The PostgreSQL server of a run, and the connections to it.

use std::str::FromStr;
use std::time::Duration;

use idem_runtime::schema;
use idem_tests_cluster::{Cluster, Options, Wire};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, Pool};

use crate::Fault;

/// A server for this run only. It is durable: `fsync`, `synchronous_commit` and `full_page_writes`
/// are on.
pub(crate) struct Server {
    cluster: Cluster,
}

/// Which of the library's two paths to the server a pool selects. Plain SQL ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    Fused,
    Unfused,
}

impl Path {
    /// Returns the value of `idem.fused` at the start of each connection.
    fn setting(self) -> &'static str {
        match self {
            Self::Fused => "on",
            Self::Unfused => "off",
        }
    }
}

/// One way to connect to one database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) path: Path,
    pub(crate) wire: Option<&'a Wire>,
    pub(crate) waits_for_disk: bool,
    pub(crate) connections: u32,
}

impl Way<'_> {
    /// Directly, durable, with one connection.
    pub(crate) const DIRECT: Self = Self {
        path: Path::Fused,
        wire: None,
        waits_for_disk: true,
        connections: 1,
    };
}

impl Server {
    /// Starts the server with room for 1 GB of pages, which is more than the tables of most blocks.
    pub(crate) fn start() -> Result<Self, Fault> {
        Self::caching("1GB")
    }

    /// Starts the server without automatic checkpoints, since one would slow one case and not
    /// another.
    pub(crate) fn caching(shared_buffers: &str) -> Result<Self, Fault> {
        let options = Options::new()
            .durable()
            .set("max_connections", "400")
            .set("shared_buffers", shared_buffers)
            .set("max_wal_size", "16GB")
            .set("checkpoint_timeout", "1h")
            .set("wal_level", "minimal")
            .set("max_wal_senders", "0")
            .set("track_wal_io_timing", "off");
        Ok(Self {
            cluster: Cluster::start(options)?,
        })
    }

    /// Creates a database with the business tables and the record's table.
    pub(crate) async fn database(&self, name: &str) -> Result<Database, Fault> {
        let mut connection = PgConnection::connect(&self.cluster.url("postgres")).await?;
        let create = format!("CREATE DATABASE {name} TEMPLATE template0");
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(create)))
            .await?;
        connection.close().await?;
        let options = PgConnectOptions::from_str(&self.cluster.url(name))?;
        let database = Database {
            options: options.ssl_mode(PgSslMode::Disable),
        };
        let mut connection = database.connect().await?;
        connection.execute(sqlx::raw_sql(TABLES)).await?;
        connection
            .execute(sqlx::raw_sql(crate::textbook::TABLE))
            .await?;
        schema::create_if_missing(&mut connection).await?;
        connection
            .execute("ALTER TABLE idem_record SET (autovacuum_enabled = off)")
            .await?;
        connection.close().await?;
        Ok(database)
    }

    /// Returns a link to this server with a round trip.
    pub(crate) fn wire(&self, round_trip: Duration) -> Result<Wire, Fault> {
        Ok(Wire::to(self.cluster.port(), round_trip)?)
    }
}

/// The tables that handlers write to.
const TABLES: &str = "\
CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL) WITH (autovacuum_enabled = off, fillfactor = 50);
CREATE TABLE payment (id bigserial PRIMARY KEY, account bigint NOT NULL, amount bigint NOT NULL, note text NOT NULL)
    WITH (autovacuum_enabled = off);
INSERT INTO account SELECT n, 0 FROM generate_series(0, 9999) AS n;";

#[derive(Debug, Clone)]
pub(crate) struct Database {
    options: PgConnectOptions,
}

impl Database {
    /// Opens a connection outside any pool.
    pub(crate) async fn connect(&self) -> Result<PgConnection, Fault> {
        Ok(PgConnection::connect_with(&self.options).await?)
    }

    /// Opens a pool with sqlx's defaults: it pings a connection on acquire and on release.
    pub(crate) fn pool(&self, way: Way<'_>) -> PgPool {
        let mut options = self.options.clone();
        if let Some(wire) = way.wire {
            options = options.port(wire.port());
        }
        let commit = if way.waits_for_disk { "on" } else { "off" };
        let settings = [
            ("idem.fused", way.path.setting()),
            ("synchronous_commit", commit),
        ];
        PgPoolOptions::new()
            .max_connections(way.connections)
            .acquire_timeout(Duration::from_mins(1))
            .connect_lazy_with(options.options(settings))
    }

    /// Runs statements that are not part of a case.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), Fault> {
        let mut connection = self.connect().await?;
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await?;
        Ok(connection.close().await?)
    }
}

/// Waits until the pool has all its connections back. It pings each on release, after the caller
/// has continued.
pub(crate) async fn settled<DB: sqlx::Database>(pool: &Pool<DB>) {
    let mut asked = 0_u32;
    while pool.num_idle() < usize::try_from(pool.size()).unwrap_or(usize::MAX) {
        asked += 1;
        if asked < 200 {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
