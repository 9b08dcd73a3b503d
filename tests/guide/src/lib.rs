//! The guide, whose examples run as tests, and what they share.

use idem_runtime::schema;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

/// The pages with code. A page without code needs no line here; `tests/pages.rs` looks.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/guide/adopting.md")]
    struct Adopting;
    #[doc = include_str!("../../../docs/guide/batches.md")]
    struct Batches;
    #[doc = include_str!("../../../docs/guide/deploying.md")]
    struct Deploying;
    #[doc = include_str!("../../../docs/guide/failures.md")]
    struct Failures;
    #[doc = include_str!("../../../docs/guide/getting-started.md")]
    struct GettingStarted;
    #[doc = include_str!("../../../docs/grpc.md")]
    struct Grpc;
    #[doc = include_str!("../../../docs/guide/http.md")]
    struct Http;
    #[doc = include_str!("../../../docs/http-other.md")]
    struct HttpOther;
    #[doc = include_str!("../../../docs/guide/keys.md")]
    struct Keys;
    #[doc = include_str!("../../../docs/guide/leases.md")]
    struct Leases;
    #[doc = include_str!("../../../docs/mcp.md")]
    struct Mcp;
    #[doc = include_str!("../../../docs/guide/messages.md")]
    struct Messages;
    #[doc = include_str!("../../../docs/guide/multi-step.md")]
    struct MultiStep;
    #[doc = include_str!("../../../docs/guide/other-stacks.md")]
    struct OtherStacks;
    #[doc = include_str!("../../../docs/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../docs/guide/webhooks.md")]
    struct Webhooks;
}

/// Creates a database in memory with the record's table and the page's own tables.
///
/// # Panics
/// Panics if SQLite refuses a statement.
pub async fn memory(tables: &'static str) -> SqlitePool {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await
        .expect("a database in memory");
    let mut conn = pool.acquire().await.expect("its connection");
    schema::create_if_missing(&mut conn).await.expect("a table");
    sqlx::raw_sql(tables)
        .execute(&mut *conn)
        .await
        .expect("the tables of the page");
    drop(conn);
    pool
}
