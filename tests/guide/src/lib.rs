//! The guide, whose examples run as tests, and what they share.

use std::net::SocketAddr;

use idem_runtime::schema;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

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

/// Returns the answer to an order of `item` over TCP, from its first line to the end of its body, in lower case.
async fn post_order(address: SocketAddr, key: Option<&str>, item: &str) -> String {
    let mut line = TcpStream::connect(address).await.expect("a connection");
    let key = key.map_or(String::new(), |key| {
        format!("idempotency-key: \"{key}\"\r\n")
    });
    let length = item.len();
    let request = format!(
        "POST /orders HTTP/1.0\r\nhost: shop\r\n{key}content-length: {length}\r\n\r\n{item}"
    );
    line.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    line.read_to_end(&mut answer).await.expect("an answer");
    String::from_utf8(answer).expect("text").to_lowercase()
}

/// Checks that a retry of an order has the first answer and no second effect, and how other requests are refused: those of a
/// service that answers `POST /orders` with the number of the order.
///
/// # Panics
/// Panics if it is otherwise.
pub async fn is_safe_to_retry(address: SocketAddr, pool: &SqlitePool) {
    let first = post_order(address, Some("a"), "tea").await;
    let again = post_order(address, Some("a"), "tea").await;
    let has_status =
        |answer: &str, status: u16| answer.split(' ').nth(1) == Some(&*status.to_string());
    for answer in [&first, &again] {
        assert!(has_status(answer, 200), "{answer}");
        assert!(answer.ends_with("\r\n\r\n1"), "{answer}");
    }
    assert!(!first.contains("idempotent-replayed"), "{first}");
    assert!(again.contains("idempotent-replayed: true"), "{again}");
    for (key, item, status, code) in [
        (Some("a"), "coffee", 422, "mismatch"),
        (None, "tea", 400, "key-missing"),
    ] {
        let refused = post_order(address, key, item).await;
        assert!(has_status(&refused, status), "{refused}");
        assert!(
            refused.contains("content-type: application/problem+json"),
            "{refused}"
        );
        assert!(
            refused.contains(&format!("\"code\":\"{code}\"")),
            "{refused}"
        );
    }
    let orders: i64 = sqlx::query_scalar("SELECT count(*) FROM orders")
        .fetch_one(pool)
        .await
        .expect("the table of the page");
    assert_eq!(orders, 1);
}
