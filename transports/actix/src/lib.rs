//! The HTTP edge of idem for actix-web 4: reads an `Idempotency-Key` and returns refusals.
//!
//! The rules are those of [`idem_runtime::http`] and [`idem_tower`], in actix's types:
//!
//! - [`Key`] is an extractor, and [`OptionalKey`] is one where a key is not required. They carry the
//!   [`Scope`](idem_runtime::Scope) that a middleware put into the request's extensions.
//! - [`ToHttpResponse`] makes a response of an [`Error`](idem_runtime::Error) or a [`Problem`]; [`Refusal`] is an error of the
//!   library as actix's `ResponseError`.
//! - [`Replay`] is a responder, and a replay has the header `Idempotent-Replayed: true`.
//! - [`Policy`] is a middleware that changes the rules for a scope.
//! - [`Detached`] runs a call to its end even if the client disconnects.
//! - [`Idempotency`] is the middleware of an [`IdempotencyLayer`], which replays whole responses of services that have no
//!   transaction.
//! - [`status`] says what has become of a key.
//! - [`cors`] names the headers that browsers must be allowed to send and to read.
//!
//! ```
//! use actix_web::http::StatusCode;
//! use actix_web::{App, HttpResponse, ResponseError, web};
//! use idem_actix::{HttpPolicy, Key, Policy, Replay, ToHttpResponse as _};
//! use idem_runtime::error::is_transient;
//! use idem_runtime::{IdempotencyKey, idempotent};
//! use sqlx::{SqlitePool, SqliteTransaction};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Order { item: String }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Placed { number: i64 }
//!
//! #[derive(Debug, thiserror::Error)]
//! enum OrderError {
//!     #[error(transparent)]
//!     Idempotency(#[from] idem_runtime::Error), // the attribute asks for it
//!     #[error(transparent)]
//!     Database(#[from] sqlx::Error),
//! }
//!
//! // With this, `?` in a web handler answers with the library's refusal.
//! impl ResponseError for OrderError {
//!     fn error_response(&self) -> HttpResponse {
//!         match self {
//!             Self::Idempotency(error) => error.to_http_response(), // 400, 409, 422, 503
//!             Self::Database(error) if is_transient(error) => HttpResponse::new(StatusCode::SERVICE_UNAVAILABLE),
//!             Self::Database(_) => HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR),
//!         }
//!     }
//! }
//!
//! #[idempotent(namespace = "orders", retention = "24h")]
//! async fn place_order(
//!     tx: &mut SqliteTransaction<'_>,
//!     key: &IdempotencyKey,
//!     order: &Order,
//! ) -> Result<Placed, OrderError> {
//!     let insert = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number");
//!     Ok(Placed { number: insert.bind(&order.item).fetch_one(&mut **tx).await? })
//! }
//!
//! async fn post_order(
//!     pool: web::Data<SqlitePool>,
//!     key: Key,
//!     order: web::Json<Order>,
//! ) -> Result<Replay<HttpResponse>, OrderError> {
//!     let placed = place_order(pool.get_ref(), &key, &order).await?;
//!     Ok(Replay(placed.map(|placed| HttpResponse::Created().json(placed))))
//! }
//!
//! # fn app(pool: SqlitePool) {
//! // Your authentication is a further `.wrap(..)`; it puts a `Scope` into the request's extensions.
//! let app = App::new()
//!     .app_data(web::Data::new(pool))
//!     .service(web::resource("/orders").route(web::post().to(post_order)))
//!     .wrap(Policy::new(HttpPolicy::new().strict()));
//! # let _ = app; }
//! ```
//!
//! # A client that disconnects
//!
//! actix-web 4 goes on with a handler whose client has closed its side of the connection (it may only have finished
//! sending), and ends it when the connection is reset, or at once with `h1_allow_half_closed(false)`; over HTTP/2 a handler goes on. Either is
//! safe: a handler that ends early is rolled back. A handler that takes longer than a gateway waits needs
//! [`Detached`], or its retries may never succeed.

mod convert;
pub mod cors;
mod handoff;
mod idempotency;
mod key;
mod policy;
mod replay;
mod response;
mod sent_body;
mod status;

pub use idem_tower::{
    Buffered, CODES, DOCUMENTATION, Detached, HttpPolicy, IdempotencyLayer, InFlightAnswer, Keep,
    Problem, StatusAccess, Syntax, problems,
};

pub use self::idempotency::{Idempotency, IdempotencyMiddleware};
pub use self::key::{Key, OptionalKey};
pub use self::policy::{Policy, PolicyMiddleware};
pub use self::replay::Replay;
pub use self::response::{Refusal, ToHttpResponse};
pub use self::status::status;
