//! The shop on axum.

use std::net::TcpListener;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_axum::StatusResource;
use idem_runtime::{IdempotencyKey, Replayable};
use sqlx::SqlitePool;

use crate::desk::{DeclineError, Desk, Order, OrderError, Placed};
use crate::framework::{Framework, Rules, Server, authorise, orders, tenant};

/// Routes of axum.
#[derive(Debug)]
pub struct OnAxum;

impl IntoResponse for OrderError {
    fn into_response(self) -> Response {
        match self {
            Self::Idempotency(error) => error.into_response(),
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

impl IntoResponse for DeclineError {
    fn into_response(self) -> Response {
        match self {
            Self::Idempotency(error) => error.into_response(),
            other => (StatusCode::GONE, other.to_string()).into_response(),
        }
    }
}

async fn post_order(
    State(desk): State<Desk>,
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, OrderError> {
    let placed = desk.order(key, order).await?;
    let number = placed.number;
    let headers = [
        (header::LOCATION, format!("/orders/{number}")),
        (header::ETAG, format!("\"{number}\"")),
    ];
    Ok((StatusCode::CREATED, headers, placed.map(Json)))
}

async fn post_item(
    State(desk): State<Desk>,
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, OrderError> {
    Ok(desk.item(&key, order).await?.map(Json))
}

async fn post_note(
    State(desk): State<Desk>,
    key: Option<IdempotencyKey>,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, OrderError> {
    Ok(desk.note(key, order).await?.map(Json))
}

async fn post_declined(
    State(desk): State<Desk>,
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<Replayable<Json<Placed>>, Replayable<DeclineError>> {
    Ok(desk.decline(key, order).await?.map(Json))
}

async fn post_declined_no_longer(
    State(desk): State<Desk>,
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<Replayable<Json<Placed>>, OrderError> {
    Ok(desk.decline_no_longer(key, order).await?.map(Json))
}

async fn authenticate(mut request: Request, next: Next) -> Response {
    let header = request.headers().get("x-tenant");
    if let Some(scope) = tenant(header.map(header::HeaderValue::as_bytes)) {
        request.extensions_mut().insert(scope);
    }
    next.run(request).await
}

/// The routes, without layers.
pub fn routes(desk: Desk) -> Router {
    Router::new()
        .route("/orders", post(post_order))
        .route("/items", post(post_item))
        .route("/notes", post(post_note))
        .route("/declined", post(post_declined))
        .route("/declined-no-longer", post(post_declined_no_longer))
        .route_service("/operations", status(&desk.pool, false))
        .route_service("/results", status(&desk.pool, true))
        .with_state(desk)
}

/// The status resource, which shows results or not.
pub(crate) fn status(
    pool: &SqlitePool,
    shows_result: bool,
) -> StatusResource<sqlx::Sqlite, serde_json::Value, serde_json::Value> {
    StatusResource::new(pool.clone(), orders(), move |request| {
        let access = authorise(request)?;
        Ok(if shows_result {
            access.with_result()
        } else {
            access
        })
    })
}

/// Serves these routes behind the authentication.
///
/// # Panics
/// Panics if the socket is unusable.
pub fn serve(listener: TcpListener, routes: Router) -> Server {
    listener.set_nonblocking(true).expect("a socket");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
    let app = routes.layer(from_fn(authenticate));
    let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
    Server::stopped_by(move || server.abort())
}

impl Framework for OnAxum {
    fn serve(listener: TcpListener, desk: Desk, rules: Rules) -> Server {
        let policies = rules.policies.into_iter();
        serve(listener, policies.fold(routes(desk), Router::layer))
    }
}
