//! A shop with one web handler, as a user would write it, and a server for it.

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{IdempotencyKey, Scope, idempotent, schema};
use idem_tests::gate::{self, GatePoint};
use idem_tests::sqlite::{Journal, Sqlite};
use serde::{Deserialize, Serialize};
use sqlx::{SqlitePool, SqliteTransaction};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::failures;

/// The request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) item: String,
}

/// The result.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) number: i64,
    pub(crate) item: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
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

#[idempotent(namespace = "orders", result_limit = "4MiB")]
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
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

async fn post_order(
    State(pool): State<SqlitePool>,
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, OrderError> {
    let placed = place_order(&pool, &key, &order).await?;
    let number = placed.number;
    let headers = [
        (header::LOCATION, format!("/orders/{number}")),
        (header::ETAG, format!("\"{number}\"")),
    ];
    Ok((StatusCode::CREATED, headers, placed.map(Json)))
}

#[idempotent(
    namespace = "orders",
    operation = "note",
    key_required = false,
    record_request
)]
async fn take_note(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    order: &Order,
) -> Result<Placed, OrderError> {
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

async fn post_note(
    State(pool): State<SqlitePool>,
    key: Option<IdempotencyKey>,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, OrderError> {
    let placed = take_note(&pool, key, &order).await?;
    Ok(placed.map(Json))
}

/// Stands for authentication: whose request it is, in a header.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let tenant = request.headers().get("x-tenant");
    if let Some(tenant) = tenant.and_then(|tenant| tenant.to_str().ok()) {
        let scope = Scope::new(tenant).expect("a scope");
        request.extensions_mut().insert(scope);
    }
    next.run(request).await
}

/// The routes. The layers of a policy go around them.
pub(crate) fn routes(pool: &SqlitePool) -> Router {
    Router::new()
        .merge(failures::routes())
        .route("/orders", post(post_order))
        .route("/notes", post(post_note))
        .with_state(pool.clone())
}

/// A shop that is open, on a port and a database of its own.
pub(crate) struct Shop {
    pub(crate) pool: SqlitePool,
    pub(crate) url: String,
    pub(crate) port: u16,
    server: AbortHandle,
    _database: Sqlite,
}

impl Shop {
    /// With the rules as they are without a policy.
    pub(crate) async fn open() -> Self {
        Self::open_with(|router| router).await
    }

    /// With layers around its routes.
    pub(crate) async fn open_with(layers: impl FnOnce(Router) -> Router) -> Self {
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
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let app = layers(routes(&pool)).layer(from_fn(authenticate));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self {
            pool,
            url: format!("http://127.0.0.1:{port}"),
            port,
            server: server.abort_handle(),
            _database: database,
        }
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

/// A header's value as text.
pub(crate) fn text(value: &HeaderValue) -> &str {
    value.to_str().expect("text")
}
