//! Methods by jsonrpsee's own attribute, which read the key from the call's extensions.

use idem_jsonrpc::{HeaderLayer, IdempotencyLayer, MetaNames, Module, answer, key};
use idem_runtime::{IdempotencyKey, Scope, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests_jsonrpc::{NewOrder, module, place_order};
use jsonrpsee::core::{RpcResult, async_trait};
use jsonrpsee::proc_macros::rpc;
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{Extensions, Server};
use jsonrpsee::types::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sqlx::SqlitePool;

use crate::client::{order, parsed, refusal};

#[rpc(server)]
trait Orders {
    #[method(name = "orders.place", param_kind = map, with_extensions)]
    async fn place_order(&self, item: String) -> RpcResult<Box<RawValue>>;
}

struct Desk(SqlitePool);

#[async_trait]
impl OrdersServer for Desk {
    async fn place_order(&self, extensions: &Extensions, item: String) -> RpcResult<Box<RawValue>> {
        let names = MetaNames::default();
        let key: IdempotencyKey = key(extensions, "orders.place", &names)?;
        let key = key.scoped(Scope::new("acme").expect("a scope"));
        let order = NewOrder {
            item,
            packing: None,
        };
        let placed = place_order(&self.0, &key, &order).await?;
        answer(&placed, &names).map_err(|_| ErrorCode::InternalError.into())
    }
}

async fn database() -> (Sqlite, SqlitePool) {
    let database = Sqlite::fresh(Journal::Wal);
    let pool = database.pool(2);
    let mut conn = pool.acquire().await.expect("a connection");
    schema::create_if_missing(&mut *conn)
        .await
        .expect("a table");
    let orders = "CREATE TABLE orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL)";
    let made = sqlx::raw_sql(orders).execute(&mut *conn).await;
    made.expect("a table");
    drop(conn);
    (database, pool)
}

async fn send(url: &str, key: Option<&str>, body: &Value) -> Value {
    let mut request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .body(body.to_string());
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let response = request.send().await.expect("an answer");
    parsed(&response.text().await.expect("text"))
}

#[tokio::test]
async fn a_method_of_a_trait_reads_its_key_from_the_extensions() {
    let (_database, pool) = database().await;
    let server = Server::builder()
        .set_http_middleware(tower::ServiceBuilder::new().layer(HeaderLayer::new()))
        .set_rpc_middleware(RpcServiceBuilder::new().layer(IdempotencyLayer::default()))
        .build("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    let handle = server.start(Desk(pool).into_rpc());
    let first = send(&url, None, &order("a", "tea")).await;
    assert_eq!(first["result"]["number"], 1);
    let again = send(&url, None, &order("a", "tea")).await;
    assert_eq!(
        again["result"]["_meta"]["dev.idem/idempotentReplayed"],
        true
    );
    let mut keyless = order("a", "tea");
    keyless["params"] = json!({ "item": "tea" });
    assert_eq!(
        refusal(&send(&url, None, &keyless).await),
        (-32602, "key-missing")
    );
    assert_eq!(send(&url, Some("a"), &keyless).await["result"]["number"], 1);
    handle.stop().expect("it runs");
}

#[tokio::test]
async fn a_method_reads_its_key_by_the_names_of_its_module_whatever_those_of_the_layer_are() {
    let (_database, pool) = database().await;
    let module = module(pool, MetaNames::of("com.example"));
    let server = Server::builder()
        .set_rpc_middleware(RpcServiceBuilder::new().layer(IdempotencyLayer::default()))
        .build("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    let handle = server.start(module.into_rpc_module());
    for (name, code) in [
        // It is read, and has no scope: nobody has put one into the extensions.
        ("com.example/idempotencyKey", (-32603, "internal")),
        ("dev.idem/idempotencyKey", (-32602, "key-missing")),
    ] {
        let mut order = order("a", "tea");
        order["params"] = json!({ "item": "tea", "_meta": { name: "a" } });
        let refused = send(&url, None, &order).await;
        assert_eq!(refusal(&refused), code, "{name}");
    }
    handle.stop().expect("it runs");
}

#[tokio::test]
async fn a_header_without_the_layer_that_knows_batches_is_refused() {
    let (_database, pool) = database().await;
    let module: Module<SqlitePool> = module(pool, MetaNames::default());
    let server = Server::builder()
        .set_http_middleware(tower::ServiceBuilder::new().layer(HeaderLayer::new()))
        .build("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    let handle = server.start(module.into_rpc_module());
    let refused = send(&url, Some("a"), &order("a", "tea")).await;
    assert_eq!(refusal(&refused), (-32602, "invalid"));
    // Without the header, the module finds keys by itself. Nobody has put a scope into the extensions.
    let refused = send(&url, None, &order("a", "tea")).await;
    assert_eq!(refusal(&refused), (-32603, "internal"));
    handle.stop().expect("it runs");
}
