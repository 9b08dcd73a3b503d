//! A database of its own for each test.

use std::env;
use std::str::FromStr;
use std::thread;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool};
use tokio::runtime;
use uuid::Uuid;

use super::{Cluster, Observer, server};

/// A fresh and empty database, dropped together with this value.
///
/// It is made on the server of `DATABASE_URL`, else on that of the run, else on one that this
/// process starts for itself. Connections that are still open are ended when it is dropped.
#[derive(Debug)]
pub struct Database {
    options: PgConnectOptions,
    /// Where to drop it from; `None` if it goes with its server.
    server: Option<PgConnectOptions>,
}

impl Database {
    /// Makes a database on the server that all tests share.
    ///
    /// # Panics
    ///
    /// There is no server, it cannot be reached, or its account may not create databases.
    pub async fn fresh() -> Self {
        Self::on(server::options()).await
    }

    /// Makes a database on the server of the run even if the user brings another: where a pooler
    /// stands in front of it.
    pub(super) async fn fresh_on_ours() -> Self {
        Self::on(server::ours()).await
    }

    /// Makes a database on the run's server of PostgreSQL 18, whatever the other one is.
    ///
    /// # Panics
    ///
    /// There is none, and nothing to start one with.
    pub async fn fresh_on_18() -> Self {
        Self::on(server::of_18()).await
    }

    async fn on(server: PgConnectOptions) -> Self {
        Self {
            options: create(&server).await,
            server: Some(server),
        }
    }

    /// Makes a database on a server of the test's own. It goes when the cluster goes, since the
    /// server may be down by the time this value is dropped.
    ///
    /// # Panics
    ///
    /// The server does not run.
    pub async fn fresh_on(cluster: &Cluster) -> Self {
        let server = PgConnectOptions::from_str(&cluster.url("postgres"))
            .expect("a cluster's URL can be parsed");
        Self {
            options: create(&server).await,
            server: None,
        }
    }

    /// The URL, for a process that the test starts.
    pub fn url(&self) -> String {
        let mut url = self.options.to_url_lossy();
        // sqlx leaves them out.
        if let Some(options) = self.options.get_options() {
            url.query_pairs_mut().append_pair("options", options);
        }
        url.to_string()
    }

    /// The options of a connection, for a test that changes some.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// A pool of at most `max_connections` connections, none of them made yet.
    pub fn pool(&self, max_connections: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(self.options.clone())
    }

    /// One connection outside any pool.
    ///
    /// # Panics
    ///
    /// The server cannot be reached.
    pub async fn connect(&self) -> PgConnection {
        connect(&self.options).await
    }

    /// Watches what the other connections to this database do, by a connection of its own.
    ///
    /// # Panics
    ///
    /// The server cannot be reached.
    pub async fn observer(&self) -> Observer {
        Observer::new(self.connect().await)
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        self.options.get_database().unwrap_or_default()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = self.server.take() else {
            return;
        };
        let statement = format!(r#"DROP DATABASE "{}" WITH (FORCE)"#, self.name());
        // A value can be dropped inside a runtime, which can be entered but once in a thread.
        let dropped = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            let work = async {
                let mut connection = PgConnection::connect_with(&server).await?;
                sqlx::raw_sql(AssertSqlSafe(statement))
                    .execute(&mut connection)
                    .await?;
                connection.close().await
            };
            runtime.block_on(work).map_err(|error| error.to_string())
        });
        if let Ok(Err(reason)) = dropped.join() {
            eprintln!("database {} is left behind: {reason}", self.name());
        }
    }
}

async fn create(server: &PgConnectOptions) -> PgConnectOptions {
    let name = format!("idem_test_{}", Uuid::new_v4().simple());
    let mut connection = connect(server).await;
    // Not template1: what somebody put there would be in the way, and a session that happens to
    // be connected to it makes the statement fail.
    let statement = format!(r#"CREATE DATABASE "{name}" TEMPLATE template0"#);
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .expect("the account may create databases");
    connection.close().await.expect("the server still answers");
    let options = server.clone().database(&name);
    if is_unfused() {
        options.options([("idem.fused", "off")])
    } else {
        options
    }
}

/// Whether this process is a test binary that runs the laws of another over the plain path: its name
/// says so.
fn is_unfused() -> bool {
    let program = env::current_exe().expect("a program that runs has a path");
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.split('-')
        .next()
        .is_some_and(|name| name.ends_with("_unfused"))
}

async fn connect(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options)
        .await
        .unwrap_or_else(|error| {
            // Not the options as a whole: they hold a password.
            let (host, port) = (options.get_host(), options.get_port());
            panic!("no connection to PostgreSQL at {host}:{port}: {error}")
        })
}
