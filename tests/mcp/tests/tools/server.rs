//! rmcp's client in memory, connected to a server of its own.

use idem_runtime::{meta::MetaNames, schema};
use idem_tests::sqlite::{Journal, Sqlite};
pub(crate) use idem_tests_mcp::server::{Counter, TENANT};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt as _};
use sqlx::SqlitePool;

/// A server with a database of its own, and a client that is connected to it.
pub(crate) struct Shop {
    pub(crate) pool: SqlitePool,
    pub(crate) client: RunningService<RoleClient, ()>,
    pub(crate) database: Sqlite,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::open_with(MetaNames::default()).await
    }

    pub(crate) async fn open_with(names: MetaNames) -> Self {
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
        let client = connect(Counter::new(pool.clone(), names)).await;
        Self {
            pool,
            client,
            database,
        }
    }

    /// How many orders there are, and how many records.
    pub(crate) async fn count(&self) -> (i64, i64) {
        sqlx::query_as("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idem_record)")
            .fetch_one(&self.pool)
            .await
            .expect("the tables")
    }
}

/// A session of its own with a server, as a host that was started again has.
pub(crate) async fn connect(server: Counter) -> RunningService<RoleClient, ()> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let serving = server.serve(far).await.expect("a session");
        serving.waiting().await.expect("no panic");
    });
    ().serve(near).await.expect("a session")
}
