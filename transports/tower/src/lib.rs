//! The HTTP edge of idem for everything that speaks `http::Request` and `tower::Service`: hyper, and the frameworks on it.
//!
//! It follows the IETF draft *The Idempotency-Key HTTP Header Field*
//! (draft-ietf-httpapi-idempotency-key-header-07), RFC 8941 for the header's syntax and RFC 9457
//! for refusals. The rules are those of [`idem_runtime::http`]; this crate applies them to the types of the crates
//! `http` and `http-body`:
//!
//! - [`header::required`] and [`header::optional`] read the key of a request, with the
//!   [`Scope`](idem_runtime::Scope) that a service further out put into the request's extensions.
//! - [`ToResponse`] makes a response of an [`Error`](idem_runtime::Error) or a [`Problem`], and [`replayable`] marks that of a
//!   result that is a replay.
//! - [`HttpPolicy`] is a layer that changes the rules for what is inside it: strict syntax, other statuses, other links.
//! - [`Detached`] is a layer that runs a call to its end even if the client disconnects.
//! - [`IdempotencyLayer`] replays whole responses of services that have no transaction.
//! - [`StatusResource`] says what has become of a key.
//! - [`cors`] names the headers that browsers must be allowed to send and to read.
//! - `openapi` (feature `openapi`) is the header and the responses in an OpenAPI document.
//!
//! `idem-axum` is this with axum's extractors and responses.
//!
//! ```
//! use http::{Request, Response, StatusCode};
//! use idem_runtime::{Error, IdempotencyKey, Replayable, idempotent};
//! use idem_tower::{Buffered, HttpPolicy, ToResponse as _, header, replayable};
//! use sqlx::{SqlitePool, SqliteTransaction};
//! use tower::{ServiceBuilder, service_fn};
//!
//! #[derive(Debug, thiserror::Error)]
//! enum OrderError {
//!     #[error(transparent)]
//!     Idempotency(#[from] Error),
//!     #[error(transparent)]
//!     Database(#[from] sqlx::Error),
//! }
//!
//! #[idempotent(namespace = "orders", retention = "24h")]
//! async fn place_order(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey, item: &str) -> Result<i64, OrderError> {
//!     let insert = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number");
//!     Ok(insert.bind(item).fetch_one(&mut **tx).await?)
//! }
//!
//! async fn post_order(pool: &SqlitePool, request: Request<String>) -> Result<Response<Buffered>, OrderError> {
//!     let (parts, item) = request.into_parts();
//!     let key = header::required(&parts)?;
//!     let placed: Replayable<i64> = place_order(pool, &key, &item).await?;
//!     Ok(replayable(placed.map(|number| Response::new(Buffered::from(number.to_string())))))
//! }
//!
//! # fn service(pool: SqlitePool) {
//! let orders = service_fn(move |request| {
//!     let pool = pool.clone();
//!     async move {
//!         Ok::<_, std::io::Error>(post_order(&pool, request).await.unwrap_or_else(|error| match error {
//!             OrderError::Idempotency(error) => error.to_response(), // 400, 409, 422, 503
//!             OrderError::Database(_) => {
//!                 let mut response = Response::new(Buffered::default());
//!                 *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
//!                 response
//!             }
//!         }))
//!     }
//! });
//! let service = ServiceBuilder::new().layer(HttpPolicy::new()).service(orders);
//! # let _ = service; }
//! ```
//!
//! # Order of layers
//!
//! A replay is returned without running the body of a handler. Therefore authenticate and authorise in an
//! outer layer, on every request, including replays. Use the account or tenant as the
//! scope. Do not use the token, which may be renewed between a request and its retry, or anything that
//! unrelated callers share.

mod body;
pub mod cors;
mod detached;
mod edit;
pub mod header;
pub mod layer;
#[cfg(feature = "openapi")]
pub mod openapi;
mod options;
mod policy;
mod response;
mod status;

pub use idem_runtime::http::{CODES, DOCUMENTATION, Problem, problems};

pub use self::body::{Buffered, MaybeBuffered};
pub use self::detached::{Detached, DetachedFuture, DetachedService};
pub use self::header::Syntax;
pub use self::layer::{IdempotencyLayer, Keep};
pub use self::options::InFlightAnswer;
pub use self::policy::{HttpPolicy, HttpPolicyFuture, HttpPolicyService};
pub use self::response::{ToResponse, replayable};
pub use self::status::{StatusAccess, StatusResource, status};
