//! The service: orders in a SQLite database, as a user of the library would write it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use idem_axum::openapi::{IdempotencyAddon, KeyHeader, Refusals};
use idem_runtime::{IdempotencyKey, Scope, idempotent};
use idem_tests::gate::{self, Gate, GatePoint};
use serde::{Deserialize, Serialize};
use sqlx::{SqlitePool, SqliteTransaction};
use utoipa::OpenApi as _;

/// The request.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    item: String,
}

/// The result.
#[derive(Debug, Serialize, Deserialize)]
struct Placed {
    number: i64,
    item: String,
}

#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl IntoResponse for OrderError {
    fn into_response(self) -> Response {
        match self {
            Self::Idempotency(error) => error.into_response(),
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

#[idempotent(namespace = "orders", marker = PlaceOrder)]
async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

/// What the routes share.
#[derive(Clone)]
struct Shared {
    pool: SqlitePool,
    /// Places at which bodies stop, by key, until a client opens them.
    gates: Arc<Mutex<HashMap<String, Arc<Gate>>>>,
}

#[utoipa::path(
    post,
    path = "/orders",
    params(KeyHeader<PlaceOrder>),
    responses((status = 201, description = "placed"), Refusals<PlaceOrder>)
)]
async fn post_order(
    State(shared): State<Shared>,
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, OrderError> {
    let key = key.scoped(Scope::GLOBAL);
    let placed = place_order(&shared.pool, &key, &order).await?;
    Ok((StatusCode::CREATED, placed.map(Json)))
}

/// An operation that takes no key, and no harm either.
#[utoipa::path(post, path = "/searches", responses((status = 200, description = "found")))]
async fn post_search(headers: HeaderMap) -> Json<bool> {
    Json(headers.contains_key("idempotency-key"))
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(post_order, post_search), modifiers(&IdempotencyAddon))]
struct Document;

/// How many orders of this item there are.
async fn effects(State(shared): State<Shared>, Path(item): Path<String>) -> Json<i64> {
    let count = sqlx::query_scalar("SELECT count(*) FROM orders WHERE item = ?")
        .bind(item)
        .fetch_one(&shared.pool)
        .await;
    Json(count.expect("the table"))
}

/// How many items have not exactly one order: those that a client has doubled.
async fn doubled(State(shared): State<Shared>) -> Json<i64> {
    let items = "SELECT count(*) FROM (SELECT 1 FROM orders GROUP BY item HAVING count(*) <> 1)";
    let count = sqlx::query_scalar(items).fetch_one(&shared.pool).await;
    Json(count.expect("the table"))
}

/// `close`, `entered` and `open`: the gate of a key.
async fn gate_of(State(shared): State<Shared>, Path((key, what)): Path<(String, String)>) {
    let gates = || shared.gates.lock().unwrap_or_else(PoisonError::into_inner);
    match &*what {
        "close" => {
            let gate = Arc::new(Gate::at(&key, GatePoint::BeforeWrite));
            gates().insert(key, gate);
        }
        "entered" => {
            let gate = gates().get(&key).cloned().expect("a closed gate");
            gate.entered().await;
        }
        "open" => drop(gates().remove(&key)),
        other => panic!("no gate does this: {other}"),
    }
}

const PAGE: &str = include_str!("../browser/page.html");

/// Returns a module of the client, as it was built.
fn module(files: &BTreeMap<String, String>, name: &str) -> Response {
    let Some(text) = files.get(name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kind = HeaderValue::from_static("text/javascript");
    ([(header::CONTENT_TYPE, kind)], text.clone()).into_response()
}

/// Returns the routes. `modules` are the client's, by name; the page loads them.
pub fn routes(pool: SqlitePool, modules: BTreeMap<String, String>) -> Router {
    let modules = Arc::new(modules);
    let module = async move |Path(name): Path<String>| module(&modules, &name);
    let page = || async { axum::response::Html(PAGE) };
    let shared = Shared {
        pool,
        gates: Arc::default(),
    };
    Router::new()
        .route("/orders", post(post_order))
        .route("/searches", post(post_search))
        .route("/openapi.json", get(|| async { Json(Document::openapi()) }))
        .route("/effects/{item}", get(effects))
        .route("/doubled", get(doubled))
        .route("/gates/{key}/{what}", post(gate_of))
        .route("/page", get(page))
        .route("/client/{name}", get(module))
        .with_state(shared)
}
