//! A separate database for each test.

use std::env;
use std::str::FromStr;
use std::thread;

use idem_runtime::recent_keys;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool};
use tokio::runtime;
use uuid::Uuid;

use super::{Cluster, Observer, server};

/// A fresh and empty database, dropped together with this value.
///
/// It is created on the server of `DATABASE_URL`, else on the server of the run, else on a server
/// that this process starts. Connections that are still open are ended when it is dropped.
#[derive(Debug)]
pub struct Database {
    options: PgConnectOptions,
    /// The server to drop it from; `None` if it is removed with its server.
    server: Option<PgConnectOptions>,
}

impl Database {
    /// Creates a database on the server that all tests share.
    ///
    /// # Panics
    ///
    /// Panics if there is no server, if it cannot be reached, or if its account may not create databases.
    pub async fn fresh() -> Self {
        Self::on(server::options()).await
    }

    /// Creates a database on the run's server even if the user names another. The tests with a
    /// pooler need this.
    pub(super) async fn fresh_on_ours() -> Self {
        Self::on(server::ours()).await
    }

    /// Creates a database on the run's server of PostgreSQL 18, whatever the version of the other
    /// one.
    ///
    /// # Panics
    ///
    /// Panics if there is none and none can be started.
    pub async fn fresh_on_18() -> Self {
        Self::on(server::of_18()).await
    }

    async fn on(server: PgConnectOptions) -> Self {
        Self {
            options: create(&server).await,
            server: Some(server),
        }
    }

    /// Creates a database on a separate server. It is removed with the cluster, since the server
    /// may be down when this value is dropped.
    ///
    /// # Panics
    ///
    /// Panics if the server does not run.
    pub async fn fresh_on(cluster: &Cluster) -> Self {
        let server = PgConnectOptions::from_str(&cluster.url("postgres"))
            .expect("a cluster's URL can be parsed");
        Self {
            options: create(&server).await,
            server: None,
        }
    }

    /// Returns the URL, for a process that the test starts.
    pub fn url(&self) -> String {
        let mut url = self.options.to_url_lossy();
        // sqlx leaves these options out of the URL.
        if let Some(options) = self.options.get_options() {
            url.query_pairs_mut().append_pair("options", options);
        }
        url.to_string()
    }

    /// Returns the connection options, for a test that changes some.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Returns a pool of at most `max_connections` connections, none of them open yet.
    pub fn pool(&self, max_connections: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(self.options.clone())
    }

    /// Opens a connection outside any pool.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot be reached.
    pub async fn connect(&self) -> PgConnection {
        connect(&self.options).await
    }

    /// Watches the other connections to this database, over a separate connection.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot be reached.
    pub async fn observer(&self) -> Observer {
        Observer::new(self.connect().await)
    }

    /// Returns the name of the database.
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
        // A value may be dropped inside a runtime, and a thread cannot enter a second runtime.
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
            eprintln!("database {} could not be dropped: {reason}", self.name());
        }
    }
}

async fn create(server: &PgConnectOptions) -> PgConnectOptions {
    let name = format!("idem_test_{}", Uuid::new_v4().simple());
    let mut connection = connect(server).await;
    // Not template1: its content would be copied, and the statement fails while a session is
    // connected to it.
    let statement = format!(r#"CREATE DATABASE "{name}" TEMPLATE template0"#);
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .expect("the account may create databases");
    connection.close().await.expect("the server still answers");
    if is_run("_other_process") {
        recent_keys::set(false);
    }
    let options = server.clone().database(&name);
    if is_run("_unfused") {
        options.options([("idem.fused", "off")])
    } else {
        options
    }
}

/// Returns whether this process is a test binary that runs the laws of another one in another way:
/// `_unfused` without fused batches, `_other_process` as if each call came to a process that has
/// never seen its key. Its name says so.
fn is_run(way: &str) -> bool {
    let program = env::current_exe().expect("a program that runs has a path");
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.split('-')
        .next()
        .is_some_and(|name| name.ends_with(way))
}

async fn connect(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options)
        .await
        .unwrap_or_else(|error| {
            // The options are not printed as a whole: they hold a password.
            let (host, port) = (options.get_host(), options.get_port());
            panic!("cannot connect to PostgreSQL at {host}:{port}: {error}")
        })
}
