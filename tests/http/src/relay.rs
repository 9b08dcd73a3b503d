//! A service without a transaction, which stands behind the layer, and what it did.

use std::convert::Infallible;
use std::fmt;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt as _};
use http_body::Frame;
use http_body_util::StreamBody;
use idem_runtime::policy::OnLapse;
use idem_runtime::{LeasedOperation, Operation, Scope, schema};
use idem_tests::gate::{self, GatePoint};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tower::layer::{DEFAULT_BODY_LIMIT, Protocol, ReplayLayer, Unscoped};
use reqwest::{Client, Method, RequestBuilder};
use sqlx::{Sqlite as Db, SqlitePool};

use crate::framework::Server;

/// The operation of a service that cannot tell a second attempt.
pub const OPERATION: LeasedOperation =
    Operation::new("relay", "http").lease(Duration::from_mins(1), OnLapse::Unknown);

/// The same for a service that knows a second attempt.
pub const REPEATABLE: LeasedOperation =
    Operation::new("relay", "http").lease(Duration::from_mins(1), OnLapse::Retry);

/// How the service answers, by the last part of the path; and it counts how often it ran.
///
/// # Panics
/// Panics if the key is no text.
pub async fn serve(runs: Arc<AtomicU32>, how: String, headers: HeaderMap, body: Bytes) -> Response {
    let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(key) = headers.get("idempotency-key") {
        gate::pass(key.to_str().expect("text"), GatePoint::AfterWrite).await;
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
        "largest" => "x".repeat(DEFAULT_BODY_LIMIT).into_response(),
        "stream" => pieces(["x".repeat(1000), "y".repeat(1000)]),
        "short" => pieces(["one", "two"]),
        "nothing" => pieces([""; 0]),
        "endless" => {
            let (one, rest) = (
                stream::iter([Ok::<_, Infallible>("one")]),
                stream::pending(),
            );
            Body::from_stream(one.chain(rest)).into_response()
        }
        "breaks" => {
            let pieces = [Ok("one"), Err("broken off")];
            Body::from_stream(stream::iter(pieces)).into_response()
        }
        "shorter" => ([("content-length", "7")], pieces(["one", "two"])).into_response(),
        "announced" => {
            let body = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
            ([("content-length", "5000")], body).into_response()
        }
        "trailers" => {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-checksum", "17".parse().expect("a value"));
            let frames = [Frame::data(Bytes::from("one")), Frame::trailers(trailers)];
            let body = StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>)));
            ([("trailer", "x-checksum")], Body::new(body)).into_response()
        }
        "bulky" => ([("x-bulky", "x".repeat(70_000))], "one").into_response(),
        "compresses" => match headers.get("accept-encoding") {
            Some(accepted) if accepted.as_bytes().starts_with(b"gzip") => {
                ([("content-encoding", "gzip")], vec![31_u8, 139]).into_response()
            }
            _ => "plain".into_response(),
        },
        "switches" => match headers.get("upgrade") {
            Some(_) => StatusCode::SWITCHING_PROTOCOLS.into_response(),
            None => "not switched".into_response(),
        },
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

/// A body of unknown length.
fn pieces<const N: usize>(pieces: [impl Into<Bytes> + Send + 'static; N]) -> Response {
    let pieces = pieces.map(Into::into).map(Ok::<Bytes, Infallible>);
    Body::from_stream(stream::iter(pieces)).into_response()
}

/// A relay on a port and a database of its own.
pub struct Relay {
    /// The database of the records.
    pub pool: SqlitePool,
    /// Its address, without a path.
    pub url: String,
    runs: Arc<AtomicU32>,
    _server: Server,
    _database: Sqlite,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Relay {
    /// Served like this; `serve` counts the runs.
    ///
    /// # Panics
    /// Panics if the machine has no port or no disk.
    pub async fn open_by(
        serve: impl FnOnce(TcpListener, SqlitePool, Arc<AtomicU32>) -> Server,
    ) -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let pool = database.pool(4);
        let mut conn = pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut *conn)
            .await
            .expect("a table");
        drop(conn);
        let runs = Arc::new(AtomicU32::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        Self {
            _server: serve(listener, pool.clone(), Arc::clone(&runs)),
            pool,
            url: format!("http://127.0.0.1:{port}"),
            runs,
            _database: database,
        }
    }

    /// How often the service ran.
    pub fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    /// A request by the tenant `acme`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let client = Client::new();
        let request = client.request(method, format!("{}/{path}", self.url));
        request.header("x-tenant", "acme")
    }

    /// A `POST` by the tenant `acme` under `key`.
    pub fn post(&self, path: &str, key: &str) -> RequestBuilder {
        self.request(Method::POST, path)
            .header("idempotency-key", key)
    }
}

/// Whose a request is, as authentication left it.
pub fn scoped<P: Protocol>(layer: Unscoped<Db, P>) -> ReplayLayer<Db, P> {
    layer.scope(|request| request.extensions.get::<Scope>().cloned())
}

/// Sends it: the status, the code of a problem, the body.
///
/// # Panics
/// Panics if there is no answer.
pub async fn send(request: RequestBuilder) -> (u16, Option<String>, Bytes) {
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
///
/// # Panics
/// Panics if it is no problem.
pub async fn refusal(request: RequestBuilder) -> (u16, String) {
    let (status, code, body) = send(request).await;
    (
        status,
        code.unwrap_or_else(|| panic!("no problem: {body:?}")),
    )
}
