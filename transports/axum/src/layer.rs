//! A layer that replays whole responses, for services that have no transaction: [`idem_tower::layer`] says what is
//! compared, what is recorded, and what becomes of a response that cannot be.
//!
//! Inside `Router::nest` the whole path is compared. Add the layer to method routers: `post(charge).route_layer(layer)`.
//! `Router::layer` and `Router::route_layer` also wrap the 405 of each route (and the former the router's 404): a request
//! without a key is then refused for its missing key before the router can say that it does not serve the method.
//! Extractors of the inner handlers do not run on a replay: repeat their checks in `authorize_replay`.

pub use idem_tower::layer::{
    DEFAULT_BODY_LIMIT, DEFAULT_RESPONSE_TIMEOUT, IdempotencyService, Keep, ReplayLayer,
};

use crate::nested::Nested;

/// Replays whole responses. See [the module](self).
///
/// ```
/// # fn app(pool: sqlx::SqlitePool) -> axum::Router {
/// use std::time::Duration;
///
/// use axum::{Router, routing::post};
/// use idem_axum::IdempotencyLayer;
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::{LeasedOperation, Operation, Scope};
///
/// const RELAY: LeasedOperation =
///     Operation::new("relay", "http").lease(Duration::from_secs(60), OnLapse::Unknown);
///
/// let layer = IdempotencyLayer::new(pool, RELAY)
///     // The scope that your authentication set.
///     .scope(|request| request.extensions.get::<Scope>().cloned())
///     .response_limit(64 * 1024);
/// // Stands for a handler that charges a card at another service.
/// Router::new().route("/charges", post("charged").route_layer(layer))
/// # }
/// ```
pub type IdempotencyLayer<DB> = ReplayLayer<DB, Nested>;

/// A layer that has no scope yet: call [`scope`](Self::scope) or [`global`](Self::global).
///
/// ```compile_fail
/// # use idem_axum::IdempotencyLayer;
/// # use {idem_runtime::{LeasedOperation, Operation, policy::OnLapse}, std::time::Duration};
/// # const MINUTE: Duration = Duration::from_secs(60);
/// # fn app(pool: sqlx::SqlitePool, router: axum::Router) -> axum::Router {
/// const RELAY: LeasedOperation = Operation::new("relay", "http").lease(MINUTE, OnLapse::Retry);
/// router.route_layer(IdempotencyLayer::new(pool, RELAY)) // no scope
/// # }
/// ```
pub type Unscoped<DB> = idem_tower::layer::Unscoped<DB, Nested>;
