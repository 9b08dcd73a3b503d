//! A shop that speaks JSON-RPC, as a user would write it, for the tests of the edge and of generated clients.

mod methods;
mod tenant;

/// The page, whose code is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/json-rpc.md")]
struct Page;

use std::net::SocketAddr;

use idem_jsonrpc::{HeaderLayer, MetaNames, Syntax};
use idem_runtime::schema;
use idem_tests::sqlite::{Journal, Sqlite};
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{Server, ServerHandle};
use serde_json::Value;
use sqlx::SqlitePool;

pub use self::methods::{NewOrder, OrderError, PlaceOrder, Placed, module, place_order};
use self::tenant::TenantLayer;

/// A shop that is open, on a port and a database of its own. It closes when this is dropped.
#[derive(Debug)]
pub struct Shop {
    /// The address, without a scheme.
    pub address: SocketAddr,
    /// The pool of the shop's database.
    pub pool: SqlitePool,
    /// The OpenRPC document of its methods.
    pub openrpc: Value,
    server: ServerHandle,
    _database: Sqlite,
}

impl Shop {
    /// Opens a shop with the default names, that reads headers of either syntax.
    pub async fn open() -> Self {
        Self::open_with(MetaNames::default(), Syntax::Lenient).await
    }

    /// Opens a shop with these names of `_meta`.
    ///
    /// # Panics
    /// Panics if there is no free port or no room for a database.
    pub async fn open_with(names: MetaNames, syntax: Syntax) -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let pool = database.pool(4);
        let mut conn = pool.acquire().await.expect("a connection");
        let made = schema::create_if_missing(&mut *conn).await;
        made.expect("a table");
        let orders = "CREATE TABLE orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL)";
        sqlx::raw_sql(orders)
            .execute(&mut *conn)
            .await
            .expect("a table");
        drop(conn);
        let module = module(pool.clone(), names);
        let http = tower::ServiceBuilder::new()
            .layer(TenantLayer)
            .layer(HeaderLayer::new().syntax(syntax));
        let server = Server::builder()
            .set_http_middleware(http)
            .set_rpc_middleware(RpcServiceBuilder::new().layer(module.layer()))
            .build("127.0.0.1:0")
            .await
            .expect("a port");
        Self {
            address: server.local_addr().expect("an address"),
            pool,
            openrpc: module.openrpc("Shop", "1.0.0"),
            server: server.start(module.into_rpc_module()),
            _database: database,
        }
    }

    /// Returns the URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns how many orders there are, and how many records.
    ///
    /// # Panics
    /// Panics if a table is gone.
    pub async fn count(&self) -> (i64, i64) {
        sqlx::query_as("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idem_record)")
            .fetch_one(&self.pool)
            .await
            .expect("the tables")
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        // It fails only if the server has stopped already.
        let _ = self.server.stop();
    }
}
