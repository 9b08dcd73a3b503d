//! Whole responses, replayed: a tower layer for services that have no transaction.
//!
//! Prefer `#[idempotent]` over a handler that takes a transaction: there the effect and its record
//! commit together. This layer is for what cannot have that, another service's API by habit. It runs
//! the inner service in [lease mode](crate::lease), detached from the client's connection.
//!
//! In this order:
//!
//! 1. A method that is not asked for a key passes through (`POST` and `PATCH` are asked).
//! 2. The key is read as [`header`](super::header) says. None: refused, or passed through where
//!    [`optional_key`](IdempotencyLayer::optional_key) allows it.
//! 3. The scope function says whose the key is. `None`: refused, never a scope that all share.
//! 4. The body is read, up to a limit. Method, path, query, content type and body are what is
//!    compared on a retry; JSON by its canonical form, all else byte for byte.
//! 5. The claim. A duplicate is answered with the recorded response, 409 or 422.
//! 6. The inner service, in a task of its own: a client that goes away does not stop it.
//! 7. Its response. By status ([`keep`](IdempotencyLayer::keep)) it is recorded, or passed on with
//!    the key released or its outcome unknown.
//!
//! What is recorded: the status, the headers of the allow-list, the whole body. The first answer has
//! all its headers; a replay has those of the list, and `Idempotent-Replayed: true`.
//!
//! # Responses that cannot be recorded
//!
//! One whose length is not known beforehand (a stream, server-sent events), one over the limit, an
//! upgraded connection, one with a `Content-Encoding` (compress further out). Nothing is ever cut: the
//! client is told `response-not-storable`, and because the effect has happened and its answer is not
//! recorded, the key's outcome is *unknown* until somebody [reconciles](crate::lease) it.
//!
//! # Responses that leave it open
//!
//! A 502, a 504 or any other 5xx, or a 408, does not say whether the effect happened; nor does an error
//! of the inner service in place of a response. What that means is the operation's to say, as it is of a
//! lapse: under [`OnLapse::Retry`](crate::policy::OnLapse::Retry) the key is released and a retry runs the service again, under
//! [`OnLapse::Unknown`](crate::policy::OnLapse::Unknown) the outcome is unknown and waits for reconciliation.
//!
//! # Order of layers
//!
//! Inside authentication and authorisation, which must be asked for a replay too, and outside what
//! must happen once. Extractors of the inner handlers do not run on a replay; what they would refuse,
//! [`authorize_replay`](IdempotencyLayer::authorize_replay) must.

mod body;
mod keep;
mod service;
mod stored;
mod subject;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use http::header::{
    CONTENT_LOCATION, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED, LINK, LOCATION,
};
use http::request::Parts;
use http::{Method, StatusCode};
use sqlx::Pool;
use tokio::sync::Semaphore;
use tower_layer::Layer;

pub use self::keep::Keep;
pub use self::service::IdempotencyService;
use crate::key::Scope;
use crate::spec::Operation;
use crate::store::LeaseBackend;

/// The most that a request's or a response's body may have, unless the layer says otherwise: 1 MiB.
pub const DEFAULT_BODY_LIMIT: usize = 1024 * 1024;

/// Response headers that a replay has, unless the layer says otherwise: those that belong to the
/// result, and none that belong to the moment or to the connection (`Date`, `Set-Cookie`, quotas).
pub const DEFAULT_HEADERS: [HeaderName; 6] = [
    CONTENT_TYPE,
    LOCATION,
    CONTENT_LOCATION,
    ETAG,
    LINK,
    LAST_MODIFIED,
];

/// Replays whole responses. See [the module](self).
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # fn app(pool: sqlx::SqlitePool, router: axum::Router) -> axum::Router {
/// use std::time::Duration;
///
/// use idem_runtime::http::layer::IdempotencyLayer;
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::{Operation, Scope};
///
/// const RELAY: Operation =
///     Operation::new("relay", "http").lease(Duration::from_secs(60), OnLapse::Unknown);
///
/// router.layer(
///     IdempotencyLayer::new(pool, RELAY)
///         // Whose request it is, as your authentication left it.
///         .scope(|request| request.extensions.get::<Scope>().cloned())
///         .response_limit(64 * 1024),
/// )
/// # }
/// ```
pub struct IdempotencyLayer<DB: LeaseBackend>(Arc<Rules<DB>>);

/// A layer that does not know yet whose keys it reads: [`scope`](Self::scope) it, or make it
/// [`global`](Self::global).
///
/// ```compile_fail
/// # use idem_runtime::{Operation, http::layer::IdempotencyLayer};
/// # fn app(pool: sqlx::SqlitePool, router: axum::Router) -> axum::Router {
/// const RELAY: Operation = Operation::new("relay", "http");
/// router.layer(IdempotencyLayer::new(pool, RELAY)) // whose keys?
/// # }
/// ```
#[must_use = "say whose the keys are: `.scope(..)` or `.global()`"]
pub struct Unscoped<DB: LeaseBackend> {
    pool: Pool<DB>,
    operation: Operation,
}

type ScopeOf = dyn Fn(&Parts) -> Option<Scope> + Send + Sync;
type MayReplay = dyn Fn(&Parts) -> bool + Send + Sync;

struct Rules<DB: LeaseBackend> {
    pool: Pool<DB>,
    operation: Operation,
    scope: Arc<ScopeOf>,
    may_replay: Option<Arc<MayReplay>>,
    methods: HashSet<Method>,
    requires_key: bool,
    headers: HashSet<HeaderName>,
    /// The user's own, in place of the default.
    keep: Option<fn(StatusCode) -> Keep>,
    request_limit: usize,
    response_limit: usize,
    runs: Option<Runs>,
}

/// How many runs of the inner service there may be at once.
#[derive(Clone)]
struct Runs {
    limit: usize,
    free: Arc<Semaphore>,
}

impl<DB: LeaseBackend> IdempotencyLayer<DB> {
    /// A layer that keeps its records through `pool`, under `operation`'s namespace, retention and
    /// lease. An operation without a lease is refused at each call, as
    /// [`Error::LeasePolicy`](crate::Error::LeasePolicy).
    #[expect(clippy::new_ret_no_self, reason = "without a scope it is no layer yet")]
    pub fn new(pool: Pool<DB>, operation: Operation) -> Unscoped<DB> {
        Unscoped { pool, operation }
    }

    /// The methods that are asked for a key; `POST` and `PATCH` by default. HTTP itself makes `PUT`
    /// and `DELETE` idempotent (RFC 9110, section 9.2.2).
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with(|rules| rules.methods = methods.into_iter().collect())
    }

    /// Lets requests without a key pass, unprotected.
    #[must_use]
    pub fn optional_key(self) -> Self {
        self.with(|rules| rules.requires_key = false)
    }

    /// The response headers that a replay has; [`DEFAULT_HEADERS`] by default.
    #[must_use]
    pub fn headers(self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|rules| rules.headers = headers.into_iter().collect())
    }

    /// What becomes of a response, by its status. By default:
    ///
    /// | status | under `OnLapse::Unknown` | under `OnLapse::Retry` |
    /// |---|---|---|
    /// | 2xx, 303 | recorded | recorded |
    /// | 101 | unknown: it cannot be recorded | unknown |
    /// | 5xx, 408 | unknown: it may have happened | released |
    /// | any other | released | released |
    ///
    /// A service that shows by 302 where it has put what it made, or that answers 503 only where it did
    /// nothing, says so here.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # fn layer(layer: idem_runtime::http::layer::IdempotencyLayer<sqlx::Sqlite>)
    /// #     -> idem_runtime::http::layer::IdempotencyLayer<sqlx::Sqlite> {
    /// use idem_runtime::http::layer::Keep;
    ///
    /// layer.keep(|status| match status.as_u16() {
    ///     200..=299 | 302 => Keep::Record,
    ///     408 | 500..=502 | 504..=599 => Keep::Unknown,
    ///     _ => Keep::Release,
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn keep(self, keep: fn(StatusCode) -> Keep) -> Self {
        self.with(|rules| rules.keep = Some(keep))
    }

    /// Asked before a recorded response is shown: whether this request may see it. `false` is
    /// answered 403.
    #[must_use]
    pub fn authorize_replay(
        self,
        may_replay: impl Fn(&Parts) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(|rules| rules.may_replay = Some(Arc::new(may_replay)))
    }

    /// The longest body of a request, in bytes; longer ones are refused with 413.
    #[must_use]
    pub fn request_limit(self, bytes: usize) -> Self {
        self.with(|rules| rules.request_limit = bytes)
    }

    /// The longest body of a response that is recorded, in bytes.
    #[must_use]
    pub fn response_limit(self, bytes: usize) -> Self {
        self.with(|rules| rules.response_limit = bytes)
    }

    /// Lets at most `runs` requests of this layer be under way at once; there is no limit by default.
    ///
    /// A run counts until it has ended, also when its client has hung up: a limit further out
    /// (`tower::limit`) loses sight of it then. A request over the limit is refused with 503 and
    /// `Retry-After` before it claims its key.
    #[must_use]
    pub fn max_concurrent(self, runs: usize) -> Self {
        self.with(|rules| {
            rules.runs = Some(Runs {
                limit: runs,
                free: Arc::new(Semaphore::new(runs.min(Semaphore::MAX_PERMITS))),
            });
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Rules<DB>)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl<DB: LeaseBackend> Unscoped<DB> {
    /// Whose a request's key is: a tenant or a principal, as authentication left it. `None` is
    /// refused.
    pub fn scope(
        self,
        scope: impl Fn(&Parts) -> Option<Scope> + Send + Sync + 'static,
    ) -> IdempotencyLayer<DB> {
        IdempotencyLayer(Arc::new(Rules {
            pool: self.pool,
            operation: self.operation,
            scope: Arc::new(scope),
            may_replay: None,
            methods: HashSet::from([Method::POST, Method::PATCH]),
            requires_key: true,
            headers: DEFAULT_HEADERS.into_iter().collect(),
            keep: None,
            request_limit: DEFAULT_BODY_LIMIT,
            response_limit: DEFAULT_BODY_LIMIT,
            runs: None,
        }))
    }

    /// One scope for all requests: whoever sends a key means the same effect, and may see its
    /// response.
    pub fn global(self) -> IdempotencyLayer<DB> {
        self.scope(|_| Some(Scope::GLOBAL))
    }
}

impl<DB: LeaseBackend, S> Layer<S> for IdempotencyLayer<DB> {
    type Service = IdempotencyService<DB, S>;

    fn layer(&self, inner: S) -> IdempotencyService<DB, S> {
        IdempotencyService::new(inner, Arc::clone(&self.0))
    }
}

// Derived, these would ask for a database that is `Clone` or `Debug` itself.

impl<DB: LeaseBackend> Clone for IdempotencyLayer<DB> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<DB: LeaseBackend> Clone for Rules<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            operation: self.operation,
            scope: Arc::clone(&self.scope),
            may_replay: self.may_replay.clone(),
            methods: self.methods.clone(),
            requires_key: self.requires_key,
            headers: self.headers.clone(),
            keep: self.keep,
            request_limit: self.request_limit,
            response_limit: self.response_limit,
            runs: self.runs.clone(),
        }
    }
}

impl<DB: LeaseBackend> fmt::Debug for IdempotencyLayer<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer")
            .field("operation", &self.0.operation)
            .field("methods", &self.0.methods)
            .field("headers", &self.0.headers)
            .finish_non_exhaustive()
    }
}

impl<DB: LeaseBackend> fmt::Debug for Unscoped<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unscoped")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
