//! A shop that speaks JSON-RPC, on a database in memory: `cargo run -p idem-jsonrpc --example orders`.
//!
//! It prints its address, and a call for curl. Send it twice: the second answer is a replay.

use idem_jsonrpc::{Call, HeaderLayer, Module, Refusal};
use idem_runtime::error::is_transient;
use idem_runtime::http::Problem;
use idem_runtime::{IdempotencyKey, idempotent, schema};
use jsonrpsee::server::Server;
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::types::{ErrorCode, ErrorObjectOwned};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{SqlitePool, SqliteTransaction};

#[derive(Serialize, Deserialize)]
struct NewOrder {
    item: String,
}

#[derive(Serialize, Deserialize)]
struct Order {
    number: i64,
}

#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<OrderError> for ErrorObjectOwned {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Idempotency(error) => Refusal::from(error).into(),
            OrderError::Database(error) if is_transient(&error) => {
                Refusal::from(Problem::try_again()).into()
            }
            OrderError::Database(_) => ErrorCode::InternalError.into(),
        }
    }
}

#[idempotent(namespace = "orders", marker = PlaceOrder)]
async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &NewOrder,
) -> Result<Order, OrderError> {
    let insert = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number");
    let number = insert.bind(&order.item).fetch_one(&mut **tx).await?;
    Ok(Order { number })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // A database in memory belongs to one connection.
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await?;
    schema::create_if_missing(&mut pool.acquire().await?).await?;
    sqlx::query("CREATE TABLE orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL)")
        .execute(&pool)
        .await?;

    let mut module = Module::new(pool);
    module.register_idempotent(
        "orders.place",
        PlaceOrder,
        |order: NewOrder, key: IdempotencyKey, call: Call<SqlitePool>| async move {
            // Nobody signs in here, so all callers share one space of keys.
            place_order(&*call.context, &key.global(), &order).await
        },
    )?;

    let server = Server::builder()
        .set_http_middleware(tower::ServiceBuilder::new().layer(HeaderLayer::new()))
        .set_rpc_middleware(RpcServiceBuilder::new().layer(module.layer()))
        .build("127.0.0.1:0")
        .await?;
    let address = server.local_addr()?;
    println!("http://{address}");
    let params = r#"{"item": "tea", "_meta": {"dev.idem/idempotencyKey": "8e03978e"}}"#;
    println!(
        r#"curl http://{address} --json '{{"jsonrpc": "2.0", "id": 1, "method": "orders.place", "params": {params}}}'"#
    );
    server.start(module.into_rpc_module()).stopped().await;
    Ok(())
}
