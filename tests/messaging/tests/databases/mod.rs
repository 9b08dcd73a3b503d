//! A fresh database of each kind, with the tables that the laws use.

use std::sync::Arc;

use idem_messaging::versions::schema;
use idem_runtime::schema::create_if_missing;
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests::{mysql, postgres};
use sqlx::{MySql, Pool, Postgres, Sqlite as SqliteDriver};

/// A database for one test.
pub(crate) trait Fresh: sqlx::Database + Sized {
    /// What the test drops at its end.
    type Server: Send + Sync;

    /// Creates it, with the record's table, that of the versions, and `tables`.
    async fn fresh(tables: &'static str) -> Db<Self>;
}

/// A database, and a pool of connections to it.
pub(crate) struct Db<D: Fresh> {
    pub(crate) pool: Pool<D>,
    pub(crate) server: Arc<D::Server>,
}

impl<D: Fresh> Clone for Db<D> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            server: Arc::clone(&self.server),
        }
    }
}

const CONNECTIONS: u32 = 12;

impl Fresh for Postgres {
    type Server = postgres::Database;

    async fn fresh(tables: &'static str) -> Db<Self> {
        let server = postgres::Database::fresh().await;
        let pool = server.pool(CONNECTIONS);
        let mut conn = pool.acquire().await.expect("a connection");
        create_if_missing(&mut conn).await.expect("the table");
        for text in [schema::postgres(), tables]
            .into_iter()
            .filter(|text| !text.is_empty())
        {
            let made = sqlx::raw_sql(text).execute(&mut *conn).await;
            made.expect("tables");
        }
        let server = Arc::new(server);
        Db { pool, server }
    }
}

impl Fresh for MySql {
    type Server = mysql::Database;

    async fn fresh(tables: &'static str) -> Db<Self> {
        let server = mysql::Database::fresh().await;
        let pool = server.pool(CONNECTIONS);
        let mut conn = pool.acquire().await.expect("a connection");
        create_if_missing(&mut conn).await.expect("the table");
        for text in [schema::mysql(), tables]
            .into_iter()
            .filter(|text| !text.is_empty())
        {
            let made = sqlx::raw_sql(text).execute(&mut *conn).await;
            made.expect("tables");
        }
        let server = Arc::new(server);
        Db { pool, server }
    }
}

impl Fresh for SqliteDriver {
    type Server = Sqlite;

    async fn fresh(tables: &'static str) -> Db<Self> {
        let server = Sqlite::fresh(Journal::Wal);
        let pool = server.pool(CONNECTIONS);
        let mut conn = pool.acquire().await.expect("a connection");
        create_if_missing(&mut conn).await.expect("the table");
        for text in [schema::sqlite(), tables]
            .into_iter()
            .filter(|text| !text.is_empty())
        {
            let made = sqlx::raw_sql(text).execute(&mut *conn).await;
            made.expect("tables");
        }
        let server = Arc::new(server);
        Db { pool, server }
    }
}
