//! The HTTP edge of idem for axum 0.8: reads an `Idempotency-Key` and returns refusals.
//!
//! It follows the IETF draft *The Idempotency-Key HTTP Header Field*
//! (draft-ietf-httpapi-idempotency-key-header-07), RFC 8941 for the header's syntax and RFC 9457
//! for refusals. The rules are those of [`idem_runtime::http`], whose feature `axum-core` this crate turns on:
//!
//! - [`IdempotencyKey`](idem_runtime::IdempotencyKey) is an extractor, and so is `Option` of it. It carries
//!   the [`Scope`](idem_runtime::Scope) that a middleware put into the request's extensions. [`header`] has
//!   the rules.
//! - [`Error`](idem_runtime::Error) is a response: a [`Problem`], `application/problem+json`. Its
//!   `type` leads to [the page of problems](problems).
//! - [`Replayable<T>`](idem_runtime::Replayable) is a response if `T` is one, and a replay has the header
//!   `Idempotent-Replayed: true`. A recorded failure has it too, if the call is made with
//!   [`ReplayExt`](idem_runtime::ReplayExt).
//!
//! The layers are those of [`idem_tower`]:
//!
//! - [`Detached`], a layer that runs a call to its end even if the client disconnects.
//! - [`IdempotencyLayer`], which replays whole responses of services that have no transaction.
//! - [`HttpPolicy`], a layer that changes the rules for a router: strict syntax, other statuses,
//!   other links.
//! - [`StatusResource`], a service that says what has become of a key: `Router::route_service`.
//! - [`cors`], the headers that browsers must be allowed to send and to read.
//! - `testing` (feature `testing`), requests without a server for tests of routes.
//! - `openapi` (feature `openapi`), the header and the responses in an OpenAPI document.
//!
//! A result is stored without its response: axum's `Json<T>` cannot be stored, but `T` can. Return
//! `(StatusCode::CREATED, payment.map(Json))`.
//!
//! ```
//! use axum::http::StatusCode;
//! use axum::response::{IntoResponse, Response};
//! use axum::{Extension, Json, Router, extract::State, routing::post};
//! use idem_axum::HttpPolicy;
//! use idem_runtime::error::is_transient;
//! use idem_runtime::{IdempotencyKey, Scope, idempotent};
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
//!     Idempotency(#[from] idem_runtime::Error),
//!     #[error(transparent)]
//!     Database(#[from] sqlx::Error),
//! }
//!
//! impl IntoResponse for OrderError {
//!     fn into_response(self) -> Response {
//!         match self {
//!             Self::Idempotency(error) => error.into_response(),
//!             Self::Database(error) if is_transient(&error) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
//!             Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
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
//!     let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
//!         .bind(&order.item)
//!         .fetch_one(&mut **tx)
//!         .await?;
//!     Ok(Placed { number })
//! }
//!
//! async fn post_order(
//!     State(pool): State<SqlitePool>,
//!     key: IdempotencyKey,
//!     Json(order): Json<Order>,
//! ) -> Result<impl IntoResponse, OrderError> {
//!     let placed = place_order(&pool, &key, &order).await?;
//!     Ok((StatusCode::CREATED, placed.map(Json)))
//! }
//!
//! fn app(pool: SqlitePool) -> Router {
//!     Router::new()
//!         .route("/orders", post(post_order))
//!         .layer(HttpPolicy::new())
//!         // Stands for your authentication, which sets the scope of the request.
//!         .layer(Extension(Scope::new("acme").expect("a scope")))
//!         .with_state(pool)
//! }
//! ```
//!
//! # Order of layers
//!
//! A replay is returned without running the body of a handler. Therefore authenticate and authorise in an
//! outer layer or an extractor, on every request, including replays. Use the account or tenant as the
//! scope. Do not use the token, which may be renewed between a request and its retry, or anything that
//! unrelated callers share.
//!
//! Add layers that require a key or detach a call to the method router, `post(handler).route_layer(..)`.
//! `Router::layer` and `Router::route_layer` also wrap the 405 of each route, so that a `PATCH` to a
//! `POST` route is refused for its missing key first; `Router::layer` wraps the 404 as well. A policy may
//! wrap anything.

pub mod layer;
mod nested;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "openapi")]
pub use idem_tower::openapi;
pub use idem_tower::{
    Buffered, CODES, DOCUMENTATION, Detached, DetachedFuture, DetachedService, HttpPolicy,
    HttpPolicyFuture, HttpPolicyService, InFlightAnswer, Keep, MaybeBuffered, Problem,
    StatusAccess, StatusResource, Syntax, cors, header, problems,
};

pub use self::layer::IdempotencyLayer;
pub use self::nested::Nested;
