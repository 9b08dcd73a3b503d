//! A database with the business table and the record's table.

use idem_runtime::{IdempotencyKey, schema};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgPool};
use uuid::Uuid;

use super::{Cluster, Database, Observer, payments};

/// A fresh database for payments, a pool to it, and the queries of the tests.
#[derive(Debug)]
pub struct Shop {
    /// The database.
    pub database: Database,
    /// A pool to it, of the requested size.
    pub pool: PgPool,
}

impl Shop {
    /// Opens a shop on the server that all tests share, with a pool of at most this many
    /// connections.
    pub async fn open(connections: u32) -> Self {
        Self::furnish(Database::fresh().await, connections).await
    }

    /// Opens a shop on a separate server.
    pub async fn open_on(cluster: &Cluster, connections: u32) -> Self {
        Self::furnish(Database::fresh_on(cluster).await, connections).await
    }

    /// Opens a shop in an existing database, with a pool of at most this many connections.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub async fn furnish(database: Database, connections: u32) -> Self {
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
    pub fn pool_by(&self, connections: u32, options: PgConnectOptions) -> PgPool {
        PgPoolOptions::new()
            .max_connections(connections)
            .connect_lazy_with(options)
    }

    /// Returns a pool whose transactions have this isolation by default.
    pub fn pool_at(&self, isolation: &str, connections: u32) -> PgPool {
        let options = self.database.options().clone();
        self.pool_by(
            connections,
            options.options([("default_transaction_isolation", isolation)]),
        )
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
            "SELECT (SELECT count(*) FROM payment WHERE key = $1), \
             (SELECT count(*) FROM idem_record WHERE key = $1)",
        )
        .bind(key.as_str())
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
