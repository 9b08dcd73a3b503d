//! What tests of routes need (feature `testing`): one request without a server, and its duplicate.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use axum::{Router, routing::post};
//! use idem_axum::testing;
//!
//! let app: Router = Router::new().route("/orders", post(async || "placed")); // in a test: that of the service
//! let answer = testing::send(&app, testing::post_json("/orders", "order-1", &["tea"])).await;
//! assert_eq!((answer.status.as_u16(), answer.text()), (200, "placed"));
//! assert!(!answer.replayed());
//! # }
//! ```

use std::convert::Infallible;
use std::fmt;

use axum_core::body::Body;
use axum_core::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use idem_runtime::http::Problem;
use idem_runtime::http::header::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::{Service, ServiceExt as _};

/// A response, whole.
///
/// `Debug` leaves out the body, which may be personal data.
#[derive(Clone)]
#[non_exhaustive]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

impl Answer {
    /// Returns whether it is a replay: whether it has the header `Idempotent-Replayed: true`.
    pub fn replayed(&self) -> bool {
        let replayed = self.headers.get(IDEMPOTENT_REPLAYED);
        replayed.is_some_and(|value| value == "true")
    }

    /// Returns the body as text.
    ///
    /// # Panics
    /// Panics if it is not UTF-8.
    #[track_caller]
    pub fn text(&self) -> &str {
        match str::from_utf8(&self.body) {
            Ok(text) => text,
            Err(error) => panic!("the body is no text: {error}"),
        }
    }

    /// Reads the body as JSON.
    ///
    /// # Panics
    /// Panics if it is none of this type.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!(
                "the body of a {} is not JSON of this type: {error}",
                self.status
            ),
        }
    }

    /// Reads a refusal.
    ///
    /// # Panics
    /// Panics if it is none: its content is not `application/problem+json`.
    #[track_caller]
    pub fn problem(&self) -> Problem {
        let content = self.headers.get(CONTENT_TYPE);
        assert!(
            content.is_some_and(|content| content == Problem::MEDIA_TYPE),
            "no problem, but a {}",
            self.status
        );
        self.json()
    }
}

/// Returns a POST of JSON with an `Idempotency-Key`. Add what authentication reads to its headers.
///
/// # Panics
/// Panics if the path is no URI, if the key has a character other than visible ASCII, or if the value is no JSON.
#[track_caller]
pub fn post_json(path: &str, key: &str, body: &impl Serialize) -> Request<Body> {
    let body = match serde_json::to_vec(body) {
        Ok(body) => body,
        Err(error) => panic!("the body is no JSON: {error}"),
    };
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(body));
    match request {
        Ok(request) => with_key(request, key),
        Err(error) => panic!("{path}: {error}"),
    }
}

/// Sets the `Idempotency-Key` of a request, written as the IETF draft does: a string in double quotes.
///
/// # Panics
/// Panics if the key has a character other than visible ASCII.
#[track_caller]
pub fn with_key<B>(mut request: Request<B>, key: &str) -> Request<B> {
    let quoted = format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""));
    match HeaderValue::try_from(quoted) {
        Ok(value) => request.headers_mut().insert(IDEMPOTENCY_KEY, value),
        Err(error) => panic!("the key cannot be in a header: {error}"),
    };
    request
}

/// Sends one request to a router, without a server (`tower::ServiceExt::oneshot`), and reads the whole answer.
///
/// # Panics
/// Panics if the body of the answer breaks off.
pub async fn send<S>(app: &S, request: Request<Body>) -> Answer
where
    S: Service<Request<Body>, Response = Response, Error = Infallible> + Clone,
{
    let response = match app.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let (parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes().to_vec(),
        Err(error) => panic!("the body of the answer breaks off: {error}"),
    };
    Answer {
        status: parts.status,
        headers: parts.headers,
        body,
    }
}

/// Sends one request twice, and asserts that the second answer is a replay of the first: it has `Idempotent-Replayed: true`,
/// the same status and the same body. Returns the first answer.
///
/// # Panics
/// Panics if the first answer is a replay (its key was used before), or if the second is none or differs.
pub async fn twice<S>(app: &S, request: impl Fn() -> Request<Body>) -> Answer
where
    S: Service<Request<Body>, Response = Response, Error = Infallible> + Clone,
{
    let first = send(app, request()).await;
    assert!(
        !first.replayed(),
        "the first answer is a replay already: its key was used before"
    );
    let second = send(app, request()).await;
    assert!(
        second.replayed(),
        "the second answer, a {}, is no replay of the first, a {}",
        second.status,
        first.status
    );
    assert_eq!(second.status, first.status, "the replay has another status");
    assert!(second.body == first.body, "the replay has another body");
    first
}
