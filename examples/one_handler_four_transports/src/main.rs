//! All transports at once.

use idem_runtime::{Scope, registry};
use one_handler_four_transports::{create_tables, grpc, http, jsonrpc, mcp};
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tokio::net::TcpListener;
use tonic::transport::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // One registry for all transports: no two handlers share an operation.
    registry::check()?;
    let options = SqliteConnectOptions::new()
        .filename("payments.db")
        .create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await?;
    create_tables(&pool).await?;

    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    let routes = http::routes(pool.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let (_, rpc) = jsonrpc::serve(jsonrpc::methods(pool.clone())?, "127.0.0.1:8545").await?;
    let service = Server::builder().add_service(grpc::service(pool.clone()));
    tokio::spawn(service.serve(([127, 0, 0, 1], 50051).into()));
    // Standard output is MCP's.
    eprintln!(
        "HTTP on 127.0.0.1:8080, JSON-RPC on 127.0.0.1:8545, gRPC on 127.0.0.1:50051, MCP here"
    );
    let payments = mcp::Payments::new(pool, Scope::new("acme")?);
    payments.serve(stdio()).await?.waiting().await?;
    rpc.stop()?;
    Ok(())
}
