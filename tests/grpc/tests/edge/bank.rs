//! A bank with a handler on PostgreSQL, and a server for it.

use idem_runtime::IdempotencyKey;
use idem_tests::postgres::payments::{self, Pay, PayError};
use idem_tests_grpc::proto::bank_client::BankClient;
use idem_tests_grpc::proto::bank_server::{self, BankServer};
use idem_tests_grpc::proto::{Paid, Payment};
use idem_tonic::{ErrorExt as _, ReplayableExt as _, RequestExt as _};
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

use crate::shop::channel;

struct Counter {
    pool: PgPool,
}

#[tonic::async_trait]
impl bank_server::Bank for Counter {
    async fn pay(&self, request: Request<Payment>) -> Result<Response<Paid>, Status> {
        // The tests count in the global scope.
        let key = request.idempotency_key()?.global();
        let amount = request.into_inner().amount;
        match payments::pay(&self.pool, &key, &Pay { amount }).await {
            Ok(paid) => Ok(paid.map(|paid| Paid { id: paid.id }).into_response()),
            Err(PayError::Idempotency(error)) => Err(error.to_status()),
            Err(other) => Err(Status::internal(other.to_string())),
        }
    }
}

/// A bank that is open, on a port of its own.
pub(crate) struct Bank {
    pub(crate) port: u16,
    channel: Channel,
    server: AbortHandle,
}

impl Bank {
    pub(crate) async fn open(pool: PgPool) -> Self {
        let server = Server::builder().add_service(BankServer::new(Counter { pool }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let channel = channel(address);
        let incoming = TcpIncoming::from(listener);
        let server = tokio::spawn(async move {
            let ended = server.serve_with_incoming(incoming).await;
            ended.expect("served");
        });
        Self {
            port: address.port(),
            channel,
            server: server.abort_handle(),
        }
    }

    /// Pays under `key`, from a connection that all calls share.
    pub(crate) fn pay(
        &self,
        key: &IdempotencyKey,
    ) -> impl Future<Output = Result<Response<Paid>, Status>> + Send + 'static {
        self.pay_with(key, |_| {})
    }

    /// The same with a request that the caller changes.
    pub(crate) fn pay_with(
        &self,
        key: &IdempotencyKey,
        change: impl FnOnce(&mut Request<Payment>),
    ) -> impl Future<Output = Result<Response<Paid>, Status>> + Send + 'static {
        Self::pay_by(self.channel.clone(), key, change)
    }

    /// The same through another connection.
    pub(crate) fn pay_by(
        channel: Channel,
        key: &IdempotencyKey,
        change: impl FnOnce(&mut Request<Payment>),
    ) -> impl Future<Output = Result<Response<Paid>, Status>> + Send + 'static {
        let mut request = Request::new(Payment { amount: 1 });
        let metadata = request.metadata_mut();
        metadata.insert("idempotency-key", key.as_str().parse().expect("ASCII"));
        change(&mut request);
        let mut client = BankClient::new(channel);
        async move { client.pay(request).await }
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        self.server.abort();
    }
}
