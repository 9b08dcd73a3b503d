//! Over JSON-RPC: the method `payments.create` with the key in `params._meta`.

use std::io;

use axum::http::{Request, header};
use idem_jsonrpc::{Call, Module, Refusal};
use idem_runtime::IdempotencyKey;
use idem_runtime::error::is_transient;
use idem_runtime::http::Problem;
use jsonrpsee::core::RegisterMethodError;
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{HttpBody, Server, ServerHandle};
use jsonrpsee::types::ErrorObjectOwned;
use sqlx::SqlitePool;
use tower::ServiceBuilder;

use crate::account;
use crate::handler::{CreatePayment, CreatePaymentOperation, PaymentError, create_payment};

impl From<PaymentError> for ErrorObjectOwned {
    fn from(error: PaymentError) -> Self {
        match error {
            PaymentError::Idempotency(error) => Refusal::from(error).into(),
            PaymentError::Database(error) if is_transient(&error) => {
                Refusal::from(Problem::try_again()).into()
            }
            PaymentError::Database(_) => Self::owned(500, "the log says why", None::<()>),
        }
    }
}

/// The methods.
///
/// # Errors
/// Returns an error if two methods have one name.
pub fn methods(pool: SqlitePool) -> Result<Module<SqlitePool>, RegisterMethodError> {
    let mut methods = Module::new(pool);
    methods.register_idempotent(
        "payments.create",
        CreatePaymentOperation,
        |cmd: CreatePayment, key: IdempotencyKey, call: Call<SqlitePool>| async move {
            create_payment(&*call.context, &key, &cmd).await
        },
    )?;
    Ok(methods)
}

fn authenticate(mut request: Request<HttpBody>) -> Request<HttpBody> {
    let sent = request.headers().get(header::AUTHORIZATION);
    // A call without an account is refused by the library, since its key has no scope.
    if let Some(scope) = account::of(sent.and_then(|value| value.to_str().ok())) {
        request.extensions_mut().insert(scope);
    }
    request
}

/// Serves the methods at an address, and returns the one it listens at.
///
/// # Errors
/// Returns the error of the socket.
pub async fn serve(
    methods: Module<SqlitePool>,
    address: &str,
) -> io::Result<(std::net::SocketAddr, ServerHandle)> {
    let server = Server::builder()
        .set_http_middleware(ServiceBuilder::new().map_request(authenticate))
        .set_rpc_middleware(RpcServiceBuilder::new().layer(methods.layer()))
        .build(address)
        .await?;
    let address = server.local_addr()?;
    Ok((address, server.start(methods.into_rpc_module())))
}
