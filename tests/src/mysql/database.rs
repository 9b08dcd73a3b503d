//! A separate database for each test.

use std::thread;

use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use tokio::runtime;
use uuid::Uuid;

use super::{Observer, Server, server};

/// A fresh and empty database, dropped together with this value.
///
/// It is created on the server of `MYSQL_URL`, else on the server of the run, else on a server that
/// this process starts.
#[derive(Debug)]
pub struct Database {
    options: MySqlConnectOptions,
    name: String,
    /// The server to drop it from; `None` if it is removed with its server.
    server: Option<MySqlConnectOptions>,
}

impl Database {
    /// Creates a database on the server that all tests share.
    ///
    /// # Panics
    ///
    /// Panics if there is no server, if it cannot be reached, or if its account may not create databases.
    pub async fn fresh() -> Self {
        let server = server::options();
        let (options, name) = create(&server).await;
        Self {
            options,
            name,
            server: Some(server),
        }
    }

    /// Creates a database on a separate server, and leaves it to be removed with that server.
    ///
    /// # Panics
    ///
    /// Panics if the server does not run.
    pub async fn fresh_on(server: &Server) -> Self {
        let server = server::parse(&server.url("mysql")).expect("a server's URL can be parsed");
        let (options, name) = create(&server).await;
        Self {
            options,
            name,
            server: None,
        }
    }

    /// Returns the URL, for a process that the test starts.
    pub fn url(&self) -> String {
        sqlx::ConnectOptions::to_url_lossy(&self.options).to_string()
    }

    /// Returns the connection options, for a test that changes some.
    pub fn options(&self) -> &MySqlConnectOptions {
        &self.options
    }

    /// Returns a pool of at most `max_connections` connections, none of them open yet.
    pub fn pool(&self, max_connections: u32) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(self.options.clone())
    }

    /// Opens a connection outside any pool.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot be reached.
    pub async fn connect(&self) -> MySqlConnection {
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
        &self.name
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = self.server.take() else {
            return;
        };
        // An open transaction of a test would delay the drop, by default for a day.
        let statement = format!(
            "SET SESSION lock_wait_timeout = 1; DROP DATABASE `{}`",
            self.name
        );
        // A value may be dropped inside a runtime, and a thread cannot enter a second runtime.
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
            eprintln!("database {} could not be dropped: {reason}", self.name);
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
        // The options are not printed: they hold a password.
        .unwrap_or_else(|error| panic!("cannot connect to MySQL: {error}"))
}
