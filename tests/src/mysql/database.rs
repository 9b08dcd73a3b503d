//! A database of its own for each test.

use std::thread;

use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use tokio::runtime;
use uuid::Uuid;

use super::{Observer, Server, server};

/// A fresh and empty database, dropped together with this value.
///
/// It is made on the server of `MYSQL_URL`, else on that of the run, else on one that this process
/// starts for itself.
#[derive(Debug)]
pub struct Database {
    options: MySqlConnectOptions,
    name: String,
    /// Where to drop it from; `None` if it goes with its server.
    server: Option<MySqlConnectOptions>,
}

impl Database {
    /// Makes a database on the server that all tests share.
    ///
    /// # Panics
    ///
    /// There is no server, it cannot be reached, or its account may not create databases.
    pub async fn fresh() -> Self {
        let server = server::options();
        let (options, name) = create(&server).await;
        Self {
            options,
            name,
            server: Some(server),
        }
    }

    /// Makes a database on a server of the test's own, with which it goes.
    ///
    /// # Panics
    ///
    /// The server does not run.
    pub async fn fresh_on(server: &Server) -> Self {
        let server = server::parse(&server.url("mysql")).expect("a server's URL can be parsed");
        let (options, name) = create(&server).await;
        Self {
            options,
            name,
            server: None,
        }
    }

    /// The URL, for a process that the test starts.
    pub fn url(&self) -> String {
        sqlx::ConnectOptions::to_url_lossy(&self.options).to_string()
    }

    /// The options of a connection, for a test that changes some.
    pub fn options(&self) -> &MySqlConnectOptions {
        &self.options
    }

    /// A pool of at most `max_connections` connections, none of them made yet.
    pub fn pool(&self, max_connections: u32) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(self.options.clone())
    }

    /// One connection outside any pool.
    ///
    /// # Panics
    ///
    /// The server cannot be reached.
    pub async fn connect(&self) -> MySqlConnection {
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
        &self.name
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = self.server.take() else {
            return;
        };
        // A transaction that a test has left open would hold the drop up, for a day by default.
        let statement = format!(
            "SET SESSION lock_wait_timeout = 1; DROP DATABASE `{}`",
            self.name
        );
        // A value can be dropped inside a runtime, which can be entered but once in a thread.
        let dropped = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            let work = async {
                let mut connection = MySqlConnection::connect_with(&server).await?;
                sqlx::raw_sql(AssertSqlSafe(statement))
                    .execute(&mut connection)
                    .await?;
                connection.close().await
            };
            runtime.block_on(work).map_err(|error| error.to_string())
        });
        if let Ok(Err(reason)) = dropped.join() {
            eprintln!("database {} is left behind: {reason}", self.name);
        }
    }
}

async fn create(server: &MySqlConnectOptions) -> (MySqlConnectOptions, String) {
    let name = format!("idem_test_{}", Uuid::new_v4().simple());
    let mut connection = connect(server).await;
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE `{name}`")))
        .execute(&mut connection)
        .await
        .expect("the account may create databases");
    connection.close().await.expect("the server still answers");
    (server.clone().database(&name), name)
}

async fn connect(options: &MySqlConnectOptions) -> MySqlConnection {
    MySqlConnection::connect_with(options)
        .await
        // Not the options: they hold a password.
        .unwrap_or_else(|error| panic!("no connection to MySQL: {error}"))
}
