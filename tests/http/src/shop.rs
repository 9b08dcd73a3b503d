//! A shop that is open, on a port and a database of its own.

use std::fmt;
use std::net::TcpListener;
use std::sync::Arc;

use idem_runtime::schema;
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tower::{Detached, HttpPolicy};
use sqlx::SqlitePool;
use tokio::sync::Notify;

use crate::desk::Desk;
use crate::framework::{Framework, Rules, Server};

/// A shop that is open.
pub struct Shop {
    /// Its database.
    pub pool: SqlitePool,
    /// Its address, without a path.
    pub url: String,
    /// Its port.
    pub port: u16,
    /// Is told of each order that the server has dropped.
    pub left: Arc<Notify>,
    _server: Server,
    _database: Sqlite,
}

impl fmt::Debug for Shop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shop")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Shop {
    /// With the rules as they are without a policy.
    pub async fn open<F: Framework>() -> Self {
        Self::open_under::<F>([]).await
    }

    /// Under these policies, the inner one first.
    pub async fn open_under<F: Framework>(policies: impl IntoIterator<Item = HttpPolicy>) -> Self {
        let policies = policies.into_iter().collect();
        Self::open_by(None, |listener, desk| {
            F::serve(listener, desk, Rules { policies })
        })
        .await
    }

    /// With orders that run to their end.
    pub async fn open_detached<F: Framework>(detached: &Detached) -> Self {
        let detached = Some(detached.clone());
        Self::open_by(detached, |listener, desk| {
            F::serve(listener, desk, Rules::default())
        })
        .await
    }

    /// Served like this.
    ///
    /// # Panics
    /// Panics if the machine has no port or no disk.
    pub async fn open_by(
        detached: Option<Detached>,
        serve: impl FnOnce(TcpListener, Desk) -> Server,
    ) -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let pool = database.pool(4);
        let mut conn = pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut *conn)
            .await
            .expect("a table");
        sqlx::raw_sql("CREATE TABLE orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL)")
            .execute(&mut *conn)
            .await
            .expect("a table");
        drop(conn);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let left = Arc::new(Notify::new());
        let desk = Desk {
            pool: pool.clone(),
            detached,
            left: Arc::clone(&left),
        };
        Self {
            _server: serve(listener, desk),
            pool,
            url: format!("http://127.0.0.1:{port}"),
            port,
            left,
            _database: database,
        }
    }

    /// How many orders there are, and how many records.
    ///
    /// # Panics
    /// Panics if the tables cannot be read.
    pub async fn count(&self) -> (i64, i64) {
        sqlx::query_as("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idem_record)")
            .fetch_one(&self.pool)
            .await
            .expect("the tables")
    }
}
