//! The program under test, and a client of each transport.

mod by_grpc;
mod by_http;
mod by_jsonrpc;
mod by_mcp;

use idem_runtime::Scope;
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use jsonrpsee::server::ServerHandle;
use one_handler_four_transports::grpc::proto::payments_client::PaymentsClient;
use one_handler_four_transports::{create_tables, grpc, http, jsonrpc, mcp};
use rmcp::RoleClient;
use rmcp::ServiceExt as _;
use rmcp::service::RunningService;
use serde_json::Value;
use sqlx::SqlitePool;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};

/// What a client understands of an answer, whatever its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Paid { id: Value, replayed: bool },
    Refused { code: String },
}

impl Answer {
    pub(crate) fn refused(code: &str) -> Self {
        let code = code.to_owned();
        Self::Refused { code }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    JsonRpc,
    Grpc,
    Mcp,
}

impl Transport {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::JsonRpc, Self::Grpc, Self::Mcp];
}

/// The program, and clients that are connected to it.
pub(crate) struct Service {
    pool: SqlitePool,
    clients: Clients,
    servers: [AbortHandle; 2],
    /// The server stops when this is dropped.
    _jsonrpc: ServerHandle,
    _database: Sqlite,
}

#[derive(Clone)]
struct Clients {
    url: String,
    rpc: String,
    grpc: PaymentsClient<Channel>,
    mcp: std::sync::Arc<RunningService<RoleClient, ()>>,
}

impl Clients {
    async fn pay(&self, transport: Transport, key: Option<&str>, cents: i64) -> Answer {
        match transport {
            Transport::Http => by_http::pay(&self.url, key, cents).await,
            Transport::JsonRpc => by_jsonrpc::pay(&self.rpc, key, cents).await,
            Transport::Grpc => by_grpc::pay(self.grpc.clone(), key, cents).await,
            Transport::Mcp => by_mcp::pay(&self.mcp, key, cents).await,
        }
    }
}

impl Service {
    pub(crate) async fn open() -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let pool = database.pool(4);
        create_tables(&pool).await.expect("the tables");
        let web = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", web.local_addr().expect("an address"));
        let routes = http::routes(pool.clone());
        let web = tokio::spawn(async move { axum::serve(web, routes).await.expect("served") });
        let methods = jsonrpc::methods(pool.clone()).expect("one method");
        let (address, jsonrpc) = jsonrpc::serve(methods, "127.0.0.1:0")
            .await
            .expect("a port");
        let rpc_url = format!("http://{address}");
        let rpc = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", rpc.local_addr().expect("an address"));
        let channel = Channel::from_shared(address).expect("an address");
        let service = Server::builder().add_service(grpc::service(pool.clone()));
        let served = service.serve_with_incoming(TcpIncoming::from(rpc));
        let rpc = tokio::spawn(async move { served.await.expect("served") });
        let (near, far) = tokio::io::duplex(64 * 1024);
        let tools = mcp::Payments::new(pool.clone(), Scope::new("acme").expect("a scope"));
        tokio::spawn(async move {
            let serving = tools.serve(far).await.expect("a session");
            serving.waiting().await.expect("no panic");
        });
        let clients = Clients {
            url,
            rpc: rpc_url,
            grpc: PaymentsClient::new(channel.connect_lazy()),
            mcp: std::sync::Arc::new(().serve(near).await.expect("a session")),
        };
        Self {
            pool,
            clients,
            servers: [web.abort_handle(), rpc.abort_handle()],
            _jsonrpc: jsonrpc,
            _database: database,
        }
    }

    pub(crate) async fn pay(&self, transport: Transport, key: &str, cents: i64) -> Answer {
        self.clients.pay(transport, Some(key), cents).await
    }

    pub(crate) async fn pay_unkeyed(&self, transport: Transport) -> Answer {
        self.clients.pay(transport, None, 100).await
    }

    /// Pays again, under the same key, as long as the key is in flight or the database is busy.
    pub(crate) fn pay_until_answered(
        &self,
        transport: Transport,
        key: &str,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let (clients, key) = (self.clients.clone(), key.to_owned());
        async move {
            let answered = async {
                loop {
                    let answer = clients.pay(transport, Some(&key), 100).await;
                    let passing = ["in-flight", "try-again"].map(Answer::refused);
                    if !passing.contains(&answer) {
                        break answer;
                    }
                }
            };
            in_time("the key stays in flight", answered).await
        }
    }

    /// How many payments there are, and how many records.
    pub(crate) async fn count(&self) -> (i64, i64) {
        sqlx::query_as("SELECT (SELECT count(*) FROM payment), (SELECT count(*) FROM idem_record)")
            .fetch_one(&self.pool)
            .await
            .expect("the tables")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for server in &self.servers {
            server.abort();
        }
    }
}

/// Runs all calls at the same time.
pub(crate) async fn at_once<F>(calls: Vec<F>) -> Vec<Answer>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let calls: JoinSet<_> = calls.into_iter().collect();
    calls.join_all().await
}
