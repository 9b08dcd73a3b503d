//! A database with the business table and the record's table.

use idem_runtime::{IdempotencyKey, schema};
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use uuid::Uuid;

use super::{Database, Observer, Server, payments};

/// A fresh database for payments, a pool to it, and the queries of the tests.
#[derive(Debug)]
pub struct Shop {
    /// The database.
    pub database: Database,
    /// A pool to it, of the requested size.
    pub pool: MySqlPool,
}

impl Shop {
    /// Opens a shop on the server that all tests share, with a pool of at most this many
    /// connections.
    pub async fn open(connections: u32) -> Self {
        Self::furnish(Database::fresh().await, connections).await
    }

    /// Opens a shop on a separate server.
    pub async fn open_on(server: &Server, connections: u32) -> Self {
        Self::furnish(Database::fresh_on(server).await, connections).await
    }

    async fn furnish(database: Database, connections: u32) -> Self {
        let pool = database.pool(connections);
        let shop = Self { database, pool };
        shop.run(payments::TABLE).await;
        let mut connection = shop.database.connect().await;
        schema::create_if_missing(&mut connection)
            .await
            .expect("the record's table");
        connection.close().await.expect("the server answers");
        shop
    }

    /// Runs statements on a connection outside the pool.
    ///
    /// # Panics
    ///
    /// Panics if one fails.
    pub async fn run(&self, sql: &str) {
        let mut connection = self.database.connect().await;
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        connection.close().await.expect("the server answers");
    }

    /// Returns a pool with other connection options.
    pub fn pool_by(&self, connections: u32, options: MySqlConnectOptions) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(connections)
            .connect_lazy_with(options)
    }

    /// Returns a pool whose connections begin with these statements.
    pub fn pool_with(&self, connections: u32, setting: &'static str) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(connections)
            .after_connect(move |connection, _| {
                Box::pin(async move { connection.execute(setting).await.map(drop) })
            })
            .connect_lazy_with(self.database.options().clone())
    }

    /// Watches the other sessions.
    pub async fn observer(&self) -> Observer {
        self.database.observer().await
    }

    /// Counts the committed payments of this key.
    pub async fn payments(&self, key: &IdempotencyKey) -> i64 {
        self.effects(key).await.0
    }

    /// Counts the committed records of this key.
    pub async fn records(&self, key: &IdempotencyKey) -> i64 {
        self.effects(key).await.1
    }

    /// Counts the committed payments and records of this key.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub async fn effects(&self, key: &IdempotencyKey) -> (i64, i64) {
        let mut connection = self.database.connect().await;
        let counts = sqlx::query_as(
            "SELECT (SELECT count(*) FROM payment WHERE `key` = ?), \
             (SELECT count(*) FROM idem_record WHERE `key` = ?)",
        )
        .bind(key.as_str().as_bytes())
        .bind(key.as_str().as_bytes())
        .fetch_one(&mut connection)
        .await
        .expect("the database can be read");
        connection.close().await.expect("the server answers");
        counts
    }

    /// Asserts one committed payment and one committed record.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or more than one.
    pub async fn assert_one_effect(&self, key: &IdempotencyKey) {
        assert_eq!(self.effects(key).await, (1, 1), "payments and records");
    }

    /// Asserts that there is neither a payment nor a record.
    ///
    /// # Panics
    ///
    /// Panics if there is one.
    pub async fn assert_no_effect(&self, key: &IdempotencyKey) {
        assert_eq!(self.effects(key).await, (0, 0), "payments and records");
    }
}

/// Returns a key that no other test has, in the global scope.
///
/// # Panics
///
/// Never: a UUID is a key.
pub fn fresh_key() -> IdempotencyKey {
    let text = Uuid::new_v4().to_string();
    text.parse::<IdempotencyKey>()
        .expect("a UUID is a key")
        .global()
}
