//! The service and the proxy, running.

use std::collections::BTreeMap;

use idem_runtime::schema;
use idem_tests::sqlite::{Journal, Sqlite};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::proxy::{Proxy, Received};
use crate::shop;
use crate::tls::Tls;

/// A service on a database of its own, and a proxy in front of it. Both stop when this is dropped.
#[derive(Debug)]
pub struct Town {
    /// The proxy's address, without a slash at its end.
    pub url: String,
    /// The service's own address.
    pub service: String,
    /// The proxy behind TLS.
    pub tls: Tls,
    proxy: Proxy,
    pool: sqlx::SqlitePool,
    tasks: [AbortHandle; 3],
    _database: Sqlite,
}

impl Town {
    /// Starts both, without the client's modules.
    pub async fn open() -> Self {
        Self::open_with(BTreeMap::new()).await
    }

    /// Starts both. The service also serves these modules, by name.
    ///
    /// # Panics
    ///
    /// Panics if there is no free port or no room for a database.
    pub async fn open_with(modules: BTreeMap<String, String>) -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let pool = database.pool(4);
        let mut conn = pool.acquire().await.expect("a connection");
        let made = schema::create_if_missing(&mut *conn).await;
        made.expect("a table");
        let orders = "CREATE TABLE orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL);
                      CREATE INDEX orders_by_item ON orders (item)";
        let made = sqlx::raw_sql(orders).execute(&mut *conn).await;
        made.expect("a table");
        drop(conn);
        let (listener, service) = port().await;
        let app = shop::routes(pool.clone(), modules);
        let serving =
            tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        let proxy = Proxy::before(service.clone());
        let (listener, url) = port().await;
        let proxying = tokio::spawn(proxy.clone().serve(listener));
        let (listener, address) = port().await;
        let (tls, secured) = Tls::before(proxy.clone(), listener, &address);
        Self {
            url,
            service,
            tls,
            proxy,
            pool,
            tasks: [serving.abort_handle(), proxying.abort_handle(), secured],
            _database: database,
        }
    }

    /// Returns the requests of this name that the proxy has seen.
    pub fn requests(&self, name: &str) -> Vec<Received> {
        self.proxy.requests(name)
    }

    /// Returns how many items have not exactly one order.
    ///
    /// # Panics
    ///
    /// Panics if the table is gone.
    pub async fn doubled(&self) -> i64 {
        let items =
            "SELECT count(*) FROM (SELECT 1 FROM orders GROUP BY item HAVING count(*) <> 1)";
        let count = sqlx::query_scalar(items).fetch_one(&self.pool).await;
        count.expect("the table")
    }

    /// Returns how many orders of this item there are.
    ///
    /// # Panics
    ///
    /// Panics if the table is gone.
    pub async fn effects(&self, item: &str) -> i64 {
        let count = sqlx::query_scalar("SELECT count(*) FROM orders WHERE item = ?");
        let count = count.bind(item).fetch_one(&self.pool).await;
        count.expect("the table")
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn port() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("http://{address}"))
}
