//! A resource that says what has become of a key: running, done, failed, unknown, or not known.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{ALLOW, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::http::{Problem, StatusDocument};
use idem_runtime::status::{look_up, look_up_with_result};
use idem_runtime::store::{Backend, Store};
use idem_runtime::{Error, IdempotencyKey, Scope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Pool;
use tower_service::Service;

use crate::body::Buffered;
use crate::header;
use crate::options::KEY_PARAMETER;
use crate::response::{self, ToResponse as _};

/// What whoever asks for a status may see: the keys of one scope, and no payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusAccess {
    scope: Scope,
    shows_result: bool,
}

impl StatusAccess {
    /// Allows the states of the keys in this scope.
    pub fn to(scope: Scope) -> Self {
        Self {
            scope,
            shows_result: false,
        }
    }

    /// Allows the recorded results and failures too. The handlers' `authorize` and `on_replay` are not asked for them: they
    /// are given out as they are recorded.
    #[must_use]
    pub fn with_result(mut self) -> Self {
        self.shows_result = true;
        self
    }
}

type Authorise = dyn Fn(&Parts) -> Result<StatusAccess, Box<Problem>> + Send + Sync;

/// A service that says what has become of a key, for a client that was answered 202
/// ([`InFlightAnswer::status_at`](crate::InFlightAnswer::status_at)) or that lost its answer. The key is the parameter `key` of
/// the query, or else the header `Idempotency-Key`.
///
/// It answers `GET` and `HEAD` by a [`StatusDocument`], always `Cache-Control: no-store`, and with `Retry-After` while the
/// request runs. It runs nothing: to get the result, the client repeats its request with the same key, unless the authoriser
/// allows [results](StatusAccess::with_result).
///
/// There is no default of who may ask: `authorise` answers with the scope of the caller, or with its own refusal. It is
/// called before the key is looked up, so a refusal does not tell whether a key is in use.
///
/// ```
/// # fn service(pool: sqlx::SqlitePool) {
/// use http::StatusCode;
/// use idem_runtime::http::Problem;
/// use idem_runtime::store::RawStore;
/// use idem_runtime::{Namespace, Scope};
/// use idem_tower::{StatusAccess, StatusResource};
///
/// let orders = RawStore::new(Namespace::from_static("orders"));
/// let status = StatusResource::new(pool, orders, |request| {
///     // The scope that your authentication set.
///     match request.extensions.get::<Scope>() {
///         Some(scope) => Ok(StatusAccess::to(scope.clone())),
///         None => Err(Problem::new("not-signed-in", "Sign in first", StatusCode::FORBIDDEN, "nobody is signed in").into()),
///     }
/// });
/// // In axum: `Router::new().route_service("/operations", status)`.
/// # let _ = status; }
/// ```
pub struct StatusResource<DB: Backend, Req, Res>(Arc<Resource<DB, Req, Res>>);

struct Resource<DB: Backend, Req, Res> {
    pool: Pool<DB>,
    store: Store<Req, Res>,
    authorise: Box<Authorise>,
}

impl<DB: Backend, Req, Res> StatusResource<DB, Req, Res> {
    /// Creates a resource for the keys of the store's namespace and table.
    pub fn new(
        pool: Pool<DB>,
        store: Store<Req, Res>,
        authorise: impl Fn(&Parts) -> Result<StatusAccess, Box<Problem>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Resource {
            pool,
            store,
            authorise: Box::new(authorise),
        }))
    }
}

// Derived implementations would require `Clone` and `Debug` of the types.

impl<DB: Backend, Req, Res> Clone for StatusResource<DB, Req, Res> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<DB: Backend, Req, Res> fmt::Debug for StatusResource<DB, Req, Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusResource")
            .field("store", &self.0.store)
            .finish_non_exhaustive()
    }
}

impl<DB, Req, Res, B> Service<Request<B>> for StatusResource<DB, Req, Res>
where
    DB: Backend,
    Req: 'static,
    Res: Serialize + DeserializeOwned + Send + 'static,
{
    type Response = Response<Buffered>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Buffered>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let resource = Arc::clone(&self.0);
        let (parts, _) = request.into_parts();
        Box::pin(async move {
            if ![Method::GET, Method::HEAD].contains(&parts.method) {
                return Ok(not_allowed());
            }
            let access = match (resource.authorise)(&parts) {
                Ok(access) => access,
                Err(problem) => return Ok(problem.to_response()),
            };
            Ok(status(&resource.pool, &resource.store, &access, &parts).await)
        })
    }
}

/// Returns the response of a [`StatusResource`] to a request that has been authorised, for the edge of a framework without
/// tower's services.
pub async fn status<DB, Req, Res>(
    pool: &Pool<DB>,
    store: &Store<Req, Res>,
    access: &StatusAccess,
    request: &Parts,
) -> Response<Buffered>
where
    DB: Backend,
    Res: Serialize + DeserializeOwned,
{
    match document(pool, store, access, request).await {
        Ok(document) => response::of(document.status(), document.headers(), document.to_json()),
        Err(error) => error.to_response(),
    }
}

async fn document<DB, Req, Res>(
    pool: &Pool<DB>,
    store: &Store<Req, Res>,
    access: &StatusAccess,
    request: &Parts,
) -> Result<StatusDocument, Error>
where
    DB: Backend,
    Res: Serialize + DeserializeOwned,
{
    let key = key(request)?.scoped(access.scope.clone());
    let status = if access.shows_result {
        look_up_with_result(pool, store, &key).await?
    } else {
        look_up(pool, store, &key).await?
    };
    StatusDocument::of(status)
}

/// Returns the key that is asked for: the parameter of the query, or else the header.
fn key(request: &Parts) -> Result<IdempotencyKey, Error> {
    let query = request.uri.query().unwrap_or_default();
    let mut keys = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == KEY_PARAMETER)
        .map(|(_, value)| value);
    match (keys.next(), keys.next()) {
        (Some(key), None) => Ok(key.parse()?),
        (Some(_), Some(_)) => Err(Invalid::new(Field::Key, Reason::Repeated).into()),
        (None, _) => header::required(request),
    }
}

fn not_allowed() -> Response<Buffered> {
    let mut response = Response::new(Buffered::default());
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let allowed = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(ALLOW, allowed);
    response
}
