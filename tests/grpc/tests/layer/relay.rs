//! Methods without a transaction behind the layer, as a user would write them, and a server for them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Attempt, LeasedOperation, Operation, Scope, schema};
use idem_tests::gate::{self, GatePoint};
use idem_tests::postgres::Database;
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests_grpc::proto::carrier_client::CarrierClient;
use idem_tests_grpc::proto::carrier_server::{self, CarrierServer};
use idem_tests_grpc::proto::{Charged, Parcel};
use idem_tonic::layer::IdempotencyLayer;
use sqlx::{PgPool, Pool, SqlitePool};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tonic::codegen::{BoxStream, tokio_stream};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::service::InterceptorLayer;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status};

use crate::odd::Odd;

/// The operation of methods that cannot tell a second attempt.
pub(crate) const OPERATION: LeasedOperation =
    Operation::new("carrier", "grpc").lease(Duration::from_mins(1), OnLapse::Unknown);

/// The same for methods that know a second attempt.
pub(crate) const REPEATABLE: LeasedOperation =
    Operation::new("carrier", "grpc").lease(Duration::from_mins(1), OnLapse::Retry);

/// The path of one method.
pub(crate) const CHARGE: &str = "/shop.v1.Carrier/Charge";

/// A database for the records.
pub(crate) trait Store: LeaseBackend {
    /// What removes the database with itself.
    type Database;

    async fn fresh() -> (Self::Database, Pool<Self>);

    async fn records(pool: &Pool<Self>) -> i64;
}

const RECORDS: &str = "SELECT count(*) FROM idem_record";

impl Store for sqlx::Sqlite {
    type Database = Sqlite;

    async fn fresh() -> (Sqlite, SqlitePool) {
        let database = Sqlite::fresh(Journal::Wal);
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("a table");
        let pool = database.pool(4);
        (database, pool)
    }

    async fn records(pool: &SqlitePool) -> i64 {
        let records = sqlx::query_scalar(RECORDS).fetch_one(pool);
        records.await.expect("the table")
    }
}

impl Store for sqlx::Postgres {
    type Database = Database;

    async fn fresh() -> (Database, PgPool) {
        let database = Database::fresh().await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("a table");
        let pool = database.pool(4);
        (database, pool)
    }

    async fn records(pool: &PgPool) -> i64 {
        let records = sqlx::query_scalar(RECORDS).fetch_one(pool);
        records.await.expect("the table")
    }
}

/// A call of a method by the tenant `acme`, without a key.
pub(crate) fn unkeyed() -> Request<Parcel> {
    let mut request = Request::new(Parcel { code: 0, weight: 7 });
    let metadata = request.metadata_mut();
    metadata.insert("x-tenant", "acme".parse().expect("ASCII"));
    request
}

/// The same under `key`.
pub(crate) fn parcel(key: &str) -> Request<Parcel> {
    let mut request = unkeyed();
    let metadata = request.metadata_mut();
    metadata.insert("idempotency-key", key.parse().expect("ASCII"));
    request
}

/// The same, whose first run ends with `code`.
pub(crate) fn with_code(key: &str, code: Code) -> Request<Parcel> {
    let mut request = parcel(key);
    request.get_mut().code = code.into();
    request
}

/// The methods. They count how often they ran.
struct Carrier {
    runs: Arc<AtomicU32>,
    /// The keys that came once.
    known: Mutex<HashSet<String>>,
}

impl Carrier {
    async fn run(&self, call: Request<Parcel>) -> Result<Response<Charged>, Status> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let (metadata, extensions, parcel) = call.into_parts();
        let external_key = extensions.get::<Attempt>().map(Attempt::external_key);
        let key = text(&metadata, "idempotency-key");
        if let Some(key) = &key {
            gate::pass(key, GatePoint::AfterWrite).await;
        }
        let is_first = key.is_none_or(|key| self.known.lock().expect("no panic").insert(key));
        if parcel.code != 0 && is_first {
            return Err(Status::new(Code::from_i32(parcel.code), "not yet"));
        }
        let mut response = Response::new(Charged { run: run.into() });
        let metadata = response.metadata_mut();
        metadata.insert("x-receipt", run.into());
        let binary = MetadataValue::from_bytes(&[0, 255, 1]);
        metadata.insert_bin("x-receipt-bin", binary);
        if let Some(key) = external_key {
            metadata.insert("x-external-key", key.parse().expect("ASCII"));
        }
        Ok(response)
    }
}

fn text(metadata: &MetadataMap, name: &str) -> Option<String> {
    let text = metadata.get(name)?.to_str().expect("ASCII");
    Some(text.to_owned())
}

#[tonic::async_trait]
impl carrier_server::Carrier for Carrier {
    type TrackStream = BoxStream<Charged>;

    async fn charge(&self, call: Request<Parcel>) -> Result<Response<Charged>, Status> {
        self.run(call).await
    }

    async fn weigh(&self, call: Request<Parcel>) -> Result<Response<Charged>, Status> {
        self.run(call).await
    }

    async fn track(&self, call: Request<Parcel>) -> Result<Response<Self::TrackStream>, Status> {
        self.run(call).await?;
        let messages = [1, 2, 3].map(|run| Ok(Charged { run }));
        Ok(Response::new(Box::pin(tokio_stream::iter(messages))))
    }
}

/// Stands for authentication: whose call it is, in its metadata.
fn authenticate(mut request: Request<()>) -> Result<Request<()>, Status> {
    if let Some(tenant) = text(request.metadata(), "x-tenant") {
        let scope = Scope::new(tenant).map_err(|_| Status::unauthenticated("no tenant"))?;
        request.extensions_mut().insert(scope);
    }
    Ok(request)
}

/// A server on a port and a database of its own.
pub(crate) struct Relay<D: Store> {
    pub(crate) pool: Pool<D>,
    pub(crate) channel: Channel,
    runs: Arc<AtomicU32>,
    server: AbortHandle,
    _database: D::Database,
}

impl<D: Store> Relay<D> {
    pub(crate) async fn open() -> Self {
        Self::open_with(|layer| layer).await
    }

    pub(crate) async fn open_with(
        change: impl FnOnce(IdempotencyLayer<D>) -> IdempotencyLayer<D>,
    ) -> Self {
        Self::open_for(OPERATION, change).await
    }

    pub(crate) async fn open_for(
        operation: LeasedOperation,
        change: impl FnOnce(IdempotencyLayer<D>) -> IdempotencyLayer<D>,
    ) -> Self {
        let (database, pool) = D::fresh().await;
        let layer = IdempotencyLayer::new(pool.clone(), operation)
            .scope(|call| call.extensions.get::<Scope>().cloned());
        let runs = Arc::new(AtomicU32::new(0));
        let carrier = Carrier {
            runs: Arc::clone(&runs),
            known: Mutex::default(),
        };
        let server = Server::builder()
            .layer(InterceptorLayer::new(authenticate))
            .layer(change(layer))
            .add_service(CarrierServer::new(carrier))
            .add_service(Odd(Arc::clone(&runs)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let endpoint = Channel::from_shared(format!("http://{address}")).expect("an address");
        let incoming = TcpIncoming::from(listener);
        let server = tokio::spawn(async move {
            let ended = server.serve_with_incoming(incoming).await;
            ended.expect("served");
        });
        Self {
            pool,
            channel: endpoint.connect_lazy(),
            runs,
            server: server.abort_handle(),
            _database: database,
        }
    }

    pub(crate) fn client(&self) -> CarrierClient<Channel> {
        CarrierClient::new(self.channel.clone())
    }

    /// How often a method ran.
    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// How many records there are.
    pub(crate) async fn records(&self) -> i64 {
        D::records(&self.pool).await
    }
}

impl<D: Store> Drop for Relay<D> {
    fn drop(&mut self) {
        self.server.abort();
    }
}
