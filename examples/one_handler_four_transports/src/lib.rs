//! One handler under HTTP, JSON-RPC, MCP and gRPC, in one program with one registry.
//!
//! `cargo run -p one-handler-four-transports` listens for HTTP, JSON-RPC and gRPC, and is an MCP server on standard input and
//! output. A key is the same key everywhere: what was paid by one transport is replayed by the others, each in its own shape.

pub mod account;
pub mod grpc;
pub mod handler;
pub mod http;
pub mod jsonrpc;
pub mod mcp;

use sqlx::SqlitePool;

/// Creates the tables.
///
/// # Errors
/// Returns the database's errors, and the library's.
pub async fn create_tables(
    pool: &SqlitePool,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut conn = pool.acquire().await?;
    idem_runtime::schema::create_if_missing(&mut *conn).await?;
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS payment (id INTEGER PRIMARY KEY, account INTEGER, cents INTEGER)",
    )
    .execute(&mut *conn)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use idem_runtime::registry;

    use crate::handler::CreatePaymentOperation;

    #[test]
    fn the_registry_has_the_handler_once_for_all_transports() {
        registry::check().expect("no two handlers share an operation");
        let handler = registry::handler_of::<CreatePaymentOperation>().expect("it is linked");
        assert_eq!(registry::handlers().collect::<Vec<_>>(), [handler]);
    }
}
