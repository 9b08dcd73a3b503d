//! A service without a transaction, behind the layer, and what it did.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::stream;
use idem_runtime::http::layer::{IdempotencyLayer, Unscoped};
use idem_runtime::policy::OnLapse;
use idem_runtime::{Operation, Scope, schema};
use idem_tests::gate::{self, Place};
use idem_tests::sqlite::{Journal, Sqlite};
use reqwest::{Client, Method, RequestBuilder};
use sqlx::{Sqlite as Db, SqlitePool};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

pub(crate) const OPERATION: Operation =
    Operation::new("relay", "http").lease(Duration::from_mins(1), OnLapse::Unknown);

/// The same for a service that knows a second attempt.
pub(crate) const REPEATABLE: Operation =
    Operation::new("relay", "http").lease(Duration::from_mins(1), OnLapse::Retry);

/// How the service answers, by the last part of the path; and it counts how often it ran.
async fn serve(runs: Arc<AtomicU32>, how: String, headers: HeaderMap, body: Bytes) -> Response {
    let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(key) = headers.get("idempotency-key") {
        gate::pass(key.to_str().expect("text"), Place::AfterWrite).await;
    }
    match how.as_str() {
        "order" => (
            StatusCode::CREATED,
            [
                ("location", format!("/orders/{run}")),
                ("etag", format!("\"{run}\"")),
                ("set-cookie", format!("session={run}")),
                ("x-quota", run.to_string()),
            ],
            format!("order {run} of {} bytes", body.len()),
        )
            .into_response(),
        "bytes" => vec![0_u8, 255, 254, 10].into_response(),
        "large" => "x".repeat(2000).into_response(),
        "stream" => {
            let pieces = ["one", "two"].map(Ok::<_, Infallible>);
            Body::from_stream(stream::iter(pieces)).into_response()
        }
        "encoded" => ([("content-encoding", "gzip")], vec![31_u8, 139]).into_response(),
        "elsewhere" => (StatusCode::SEE_OTHER, [("location", format!("/{run}"))]).into_response(),
        "empty" => StatusCode::NO_CONTENT.into_response(),
        "fails" if run == 1 => StatusCode::BAD_GATEWAY.into_response(),
        "upgrades" => StatusCode::SWITCHING_PROTOCOLS.into_response(),
        status if status.parse::<StatusCode>().is_ok() && run == 1 => {
            let status: StatusCode = status.parse().expect("a status");
            status.into_response()
        }
        "refuses" => (StatusCode::UNPROCESSABLE_ENTITY, format!("no {run}")).into_response(),
        _ => run.to_string().into_response(),
    }
}

/// Stands for authentication.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let tenant = request.headers().get("x-tenant");
    if let Some(tenant) = tenant.and_then(|tenant| tenant.to_str().ok()) {
        let scope = Scope::new(tenant).expect("a scope");
        request.extensions_mut().insert(scope);
    }
    next.run(request).await
}

/// A relay on a port and a database of its own.
pub(crate) struct Relay {
    pub(crate) pool: SqlitePool,
    pub(crate) url: String,
    runs: Arc<AtomicU32>,
    server: AbortHandle,
    _database: Sqlite,
}

impl Relay {
    pub(crate) async fn open() -> Self {
        Self::open_with(scoped).await
    }

    pub(crate) async fn open_with(
        layer: impl FnOnce(Unscoped<Db>) -> IdempotencyLayer<Db>,
    ) -> Self {
        Self::open_for(OPERATION, layer).await
    }

    pub(crate) async fn open_for(
        operation: Operation,
        layer: impl FnOnce(Unscoped<Db>) -> IdempotencyLayer<Db>,
    ) -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let pool = database.pool(4);
        let mut conn = pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut *conn)
            .await
            .expect("a table");
        drop(conn);
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let route = any(
            |Path(parts): Path<Vec<(String, String)>>, headers: HeaderMap, body: Bytes| {
                let how = parts.into_iter().find(|(name, _)| name == "how");
                serve(counted, how.expect("a part").1, headers, body)
            },
        );
        let app = Router::new()
            .route("/{how}", route)
            .layer(layer(IdempotencyLayer::new(pool.clone(), operation)));
        let app = Router::new()
            .nest("/accounts/{account}", app.clone())
            .merge(app)
            .layer(from_fn(authenticate));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self {
            pool,
            url: format!("http://127.0.0.1:{port}"),
            runs,
            server: server.abort_handle(),
            _database: database,
        }
    }

    /// How often the service ran.
    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// A request by the tenant `acme`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let client = Client::new();
        let request = client.request(method, format!("{}/{path}", self.url));
        request.header("x-tenant", "acme")
    }

    /// A `POST` by the tenant `acme` under `key`.
    pub(crate) fn post(&self, path: &str, key: &str) -> RequestBuilder {
        self.request(Method::POST, path)
            .header("idempotency-key", key)
    }
}

/// Whose a request is, as authentication left it.
pub(crate) fn scoped(layer: Unscoped<Db>) -> IdempotencyLayer<Db> {
    layer.scope(|request| request.extensions.get::<Scope>().cloned())
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Sends it: the status, the code of a problem, the body.
pub(crate) async fn send(request: RequestBuilder) -> (u16, Option<String>, Bytes) {
    let answer = request.send().await.expect("an answer");
    let status = answer.status().as_u16();
    let is_problem = answer
        .headers()
        .get("content-type")
        .is_some_and(|value| value == "application/problem+json");
    let body = answer.bytes().await.expect("a body");
    let code = is_problem.then(|| {
        let problem: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        problem["code"].as_str().expect("a code").to_owned()
    });
    (status, code, body)
}

/// The same without the body.
pub(crate) async fn refusal(request: RequestBuilder) -> (u16, String) {
    let (status, code, body) = send(request).await;
    (
        status,
        code.unwrap_or_else(|| panic!("no problem: {body:?}")),
    )
}
