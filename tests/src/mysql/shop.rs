//! A database with the business table and the record's table in it.

use idem_runtime::{IdempotencyKey, schema};
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use uuid::Uuid;

use super::{Database, Observer, Server, payments};

/// A fresh database in which one can pay, a pool to it, and what the tests ask about it.
#[derive(Debug)]
pub struct Shop {
    /// The database.
    pub database: Database,
    /// A pool to it, of the size asked for.
    pub pool: MySqlPool,
}

impl Shop {
    /// A shop on the server that all tests share, with a pool of at most so many connections.
    pub async fn open(connections: u32) -> Self {
        Self::furnish(Database::fresh().await, connections).await
    }

    /// A shop on a server of the test's own.
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
    /// One fails.
    pub async fn run(&self, sql: &str) {
        let mut connection = self.database.connect().await;
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        connection.close().await.expect("the server answers");
    }

    /// A pool whose connections are made by other options.
    pub fn pool_by(&self, connections: u32, options: MySqlConnectOptions) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(connections)
            .connect_lazy_with(options)
    }

    /// A pool whose connections begin with these statements.
    pub fn pool_with(&self, connections: u32, setting: &'static str) -> MySqlPool {
        MySqlPoolOptions::new()
            .max_connections(connections)
            .after_connect(move |connection, _| {
                Box::pin(async move { connection.execute(setting).await.map(drop) })
            })
            .connect_lazy_with(self.database.options().clone())
    }

    /// A watcher of the other sessions.
    pub async fn observer(&self) -> Observer {
        self.database.observer().await
    }

    /// How many payments of this key are committed.
    pub async fn payments(&self, key: &IdempotencyKey) -> i64 {
        self.effects(key).await.0
    }

    /// How many records of this key are committed.
    pub async fn records(&self, key: &IdempotencyKey) -> i64 {
        self.effects(key).await.1
    }

    /// How many payments and how many records of this key are committed.
    ///
    /// # Panics
    ///
    /// The server does not answer.
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

    /// One payment and one record, both committed.
    ///
    /// # Panics
    ///
    /// There is none, or more.
    pub async fn assert_one_effect(&self, key: &IdempotencyKey) {
        assert_eq!(self.effects(key).await, (1, 1), "payments and records");
    }

    /// Neither payment nor record.
    ///
    /// # Panics
    ///
    /// There is one.
    pub async fn assert_no_effect(&self, key: &IdempotencyKey) {
        assert_eq!(self.effects(key).await, (0, 0), "payments and records");
    }
}

/// A key that no other test has, for all callers.
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
