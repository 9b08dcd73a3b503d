//! A shop with handlers on SQLite, as a user would write it, and a server for it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use idem_runtime::{
    Attempt, Failure, IdempotencyKey, ReplayExt as _, Scope, StoredFailure, idempotent, schema,
};
use idem_tests::gate::{self, GatePoint};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests_grpc::proto::shop_server::{self, ShopServer};
use idem_tests_grpc::proto::{self, shop_client::ShopClient};
use idem_tonic::{ErrorExt as _, ReplayableExt as _, RequestExt as _};
use serde::{Deserialize, Serialize};
use sqlx::{SqlitePool, SqliteTransaction};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

#[derive(Debug, Serialize)]
struct Order {
    item: String,
    sizes: BTreeMap<String, i32>,
}

impl From<proto::Order> for Order {
    fn from(order: proto::Order) -> Self {
        Self {
            item: order.item,
            sizes: order.sizes.into_iter().collect(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Placed {
    number: i64,
    item: String,
}

impl From<Placed> for proto::Placed {
    fn from(Placed { number, item }: Placed) -> Self {
        Self { number, item }
    }
}

#[derive(Debug, thiserror::Error, Failure)]
enum OrderError {
    #[error("no {item} today")]
    #[failure(permanent)]
    SoldOut { item: String },
    #[error("the carrier does not answer")]
    CarrierSilent,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

impl From<OrderError> for Status {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Idempotency(error) => error.to_status(),
            OrderError::SoldOut { .. } => Self::not_found(error.to_string()),
            _ => Self::internal("the log says why"),
        }
    }
}

async fn insert(tx: &mut SqliteTransaction<'_>, order: &Order) -> Result<Placed, OrderError> {
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

#[idempotent(namespace = "orders")]
async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let placed = insert(tx, order).await?;
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    Ok(placed)
}

#[idempotent(namespace = "orders", key_required = false)]
async fn take_note(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    order: &Order,
) -> Result<Placed, OrderError> {
    insert(tx, order).await
}

#[idempotent(namespace = "orders", failures = "record")]
async fn decline(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    assert!(!key.as_str().is_empty());
    let Placed { item, .. } = insert(tx, order).await?;
    Err(OrderError::SoldOut { item })
}

#[idempotent(namespace = "orders", lease = "5m")]
async fn send_parcel(
    attempt: &Attempt,
    key: IdempotencyKey,
    order: Order,
) -> Result<Placed, OrderError> {
    assert!(!key.as_str().is_empty() && !order.item.is_empty());
    attempt.outcome_unknown();
    Err(OrderError::CarrierSilent)
}

/// The service.
pub(crate) struct Counter {
    pool: SqlitePool,
}

#[tonic::async_trait]
impl shop_server::Shop for Counter {
    async fn place(
        &self,
        request: Request<proto::Order>,
    ) -> Result<Response<proto::Placed>, Status> {
        let key = request.idempotency_key()?;
        let order = request.into_inner().into();
        let placed = place_order(&self.pool, &key, &order).await?;
        Ok(placed.map(proto::Placed::from).into_response())
    }

    async fn note(
        &self,
        request: Request<proto::Order>,
    ) -> Result<Response<proto::Placed>, Status> {
        let key = request.optional_idempotency_key()?;
        let order = request.into_inner().into();
        let placed = take_note(&self.pool, key, &order).await?;
        Ok(placed.map(proto::Placed::from).into_response())
    }

    async fn decline(
        &self,
        request: Request<proto::Order>,
    ) -> Result<Response<proto::Placed>, Status> {
        let key = request.idempotency_key()?;
        let order = request.into_inner().into();
        match decline(&self.pool, &key, &order).replayable().await {
            Ok(placed) => Ok(placed.map(proto::Placed::from).into_response()),
            Err(error) => Err(error.into_status()),
        }
    }

    async fn send(
        &self,
        request: Request<proto::Order>,
    ) -> Result<Response<proto::Placed>, Status> {
        let key = request.idempotency_key()?;
        let placed = send_parcel(&self.pool, key, request.into_inner().into()).await?;
        Ok(placed.map(proto::Placed::from).into_response())
    }
}

/// Stands for authentication: whose call it is, in its metadata.
pub(crate) fn authenticate(mut request: Request<()>) -> Result<Request<()>, Status> {
    let tenant = request.metadata().get("x-tenant");
    if let Some(tenant) = tenant.and_then(|tenant| tenant.to_str().ok()) {
        let scope = Scope::new(tenant).map_err(|_| Status::unauthenticated("no tenant"))?;
        request.extensions_mut().insert(scope);
    }
    Ok(request)
}

/// A shop that is open, on a port and a database of its own.
pub(crate) struct Shop {
    pub(crate) pool: SqlitePool,
    pub(crate) channel: Channel,
    server: AbortHandle,
    _database: Sqlite,
}

impl Shop {
    pub(crate) async fn open() -> Self {
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
        let counter = Counter { pool: pool.clone() };
        let service = ShopServer::with_interceptor(counter, authenticate);
        let server = Server::builder().add_service(service);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let channel = channel(listener.local_addr().expect("an address"));
        let incoming = TcpIncoming::from(listener);
        let server = tokio::spawn(async move {
            let ended = server.serve_with_incoming(incoming).await;
            ended.expect("served");
        });
        Self {
            pool,
            channel,
            server: server.abort_handle(),
            _database: database,
        }
    }

    pub(crate) fn client(&self) -> ShopClient<Channel> {
        ShopClient::new(self.channel.clone())
    }

    /// How many orders there are, and how many records.
    pub(crate) async fn count(&self) -> (i64, i64) {
        sqlx::query_as("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idem_record)")
            .fetch_one(&self.pool)
            .await
            .expect("the tables")
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A channel to a server at this address. It connects at the first call.
pub(crate) fn channel(address: SocketAddr) -> Channel {
    let endpoint = Channel::from_shared(format!("http://{address}")).expect("an address");
    endpoint.connect_lazy()
}
