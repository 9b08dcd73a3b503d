//! The layer, and how it is made.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, Method, Response, StatusCode};
use idem_runtime::store::LeaseBackend;
use idem_runtime::{LeasedOperation, Scope};
use sqlx::Pool;
use tower_layer::Layer;

use super::options::{LayerOptions, Runs};
use super::{AsReceived, IdempotencyService, Keep, Protocol, WholeUri};
use crate::body::Buffered;

/// Replays whole responses of a service that gets its requests as they were received. See [the module](super).
///
/// **Behind axum's `Router`** use the crate `idem-axum`, which knows the path that `Router::nest` cuts; behind another
/// router that does so, a [`ReplayLayer`] with a [`WholeUri`] of yours.
///
/// ```
/// # fn service(pool: sqlx::SqlitePool) {
/// use std::convert::Infallible;
/// use std::time::Duration;
///
/// use http::{Request, Response};
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::{LeasedOperation, Operation, Scope};
/// use idem_tower::{IdempotencyLayer, MaybeBuffered};
/// use tower::{ServiceBuilder, service_fn};
///
/// const RELAY: LeasedOperation =
///     Operation::new("relay", "http").lease(Duration::from_secs(60), OnLapse::Unknown);
///
/// // Stands for a service that charges a card at another service. Its request is in memory, if it has a key.
/// async fn charge(_: Request<MaybeBuffered<String>>) -> Result<Response<String>, Infallible> {
///     Ok(Response::new("charged".to_owned()))
/// }
///
/// let layer = IdempotencyLayer::new(pool, RELAY)
///     // The scope that your authentication set.
///     .scope(|request| request.extensions.get::<Scope>().cloned())
///     .response_limit(64 * 1024);
/// let service = ServiceBuilder::new().layer(layer).service(service_fn(charge));
/// # let _ = service;
/// # }
/// ```
pub type IdempotencyLayer<DB> = ReplayLayer<DB, AsReceived>;

/// Replays whole responses of the protocol `P`. Of HTTP that is a type that knows the whole path behind a router, a
/// [`WholeUri`]; `IdempotencyLayer` is this with the `P` of its crate.
pub struct ReplayLayer<DB: LeaseBackend, P: Protocol>(pub(super) Arc<LayerOptions<DB, P>>);

/// A layer that has no scope yet: call [`scope`](Self::scope) or
/// [`global`](Self::global).
///
/// ```compile_fail
/// # use idem_tower::IdempotencyLayer;
/// # use {idem_runtime::{LeasedOperation, Operation, policy::OnLapse}, std::time::Duration};
/// # use tower_layer::Layer as _;
/// # const MINUTE: Duration = Duration::from_secs(60);
/// # fn wrap(pool: sqlx::SqlitePool, service: ()) {
/// const RELAY: LeasedOperation = Operation::new("relay", "http").lease(MINUTE, OnLapse::Retry);
/// IdempotencyLayer::new(pool, RELAY).layer(service); // no scope
/// # }
/// ```
#[must_use = "set the scope of the keys: `.scope(..)` or `.global()`"]
pub struct Unscoped<DB: LeaseBackend, P> {
    pool: Pool<DB>,
    operation: LeasedOperation,
    protocol: PhantomData<fn() -> P>,
}

impl<DB: LeaseBackend, P: Protocol> ReplayLayer<DB, P> {
    /// Creates a layer that stores its records through `pool`, under `operation`'s namespace, retention and
    /// lease. An operation without a lease does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use idem_tower::IdempotencyLayer;
    /// # use idem_runtime::Operation;
    /// # fn app(pool: sqlx::SqlitePool) {
    /// IdempotencyLayer::new(pool, Operation::new("relay", "http"));
    /// # }
    /// ```
    #[expect(clippy::new_ret_no_self, reason = "it is no layer without a scope")]
    pub fn new(pool: Pool<DB>, operation: LeasedOperation) -> Unscoped<DB, P> {
        Unscoped {
            pool,
            operation,
            protocol: PhantomData,
        }
    }

    /// Lets requests without a key pass, unprotected. A request with a key under a name that is not read
    /// (`X-Idempotency-Key` under [`Syntax::Strict`](crate::Syntax::Strict)) is refused.
    #[must_use]
    pub fn optional_key(self) -> Self {
        self.with(|options| options.requires_key = false)
    }

    /// Compares these headers of a request too, with all their values. They are stored in the record, like
    /// the rest of the request: do not name a header that holds a secret.
    #[must_use]
    pub fn compare_headers(self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|options| options.compared.extend(headers))
    }

    /// Records only these headers of a response, instead of those of [the default rule](super#what-is-recorded).
    #[must_use]
    pub fn headers(self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|options| options.recorded.only = Some(headers.into_iter().collect()))
    }

    /// Records these headers of a response too.
    #[must_use]
    pub fn record_headers(self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|options| options.recorded.with.extend(headers))
    }

    /// Records none of these headers of a response.
    #[must_use]
    pub fn omit_headers(self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|options| options.recorded.without.extend(headers))
    }

    /// Decides before a replay whether this request may see the recorded response. If it returns `false`,
    /// the request gets 403.
    #[must_use]
    pub fn authorize_replay(
        self,
        may_replay: impl Fn(&Parts) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(|options| options.may_replay = Some(Arc::new(may_replay)))
    }

    /// Edits a replayed response before it is sent, for whoever sent this request: a link that has expired, a field that is
    /// not his to see. The record stays as it is, and a first response is not edited. It is called after
    /// [`authorize_replay`](Self::authorize_replay) has agreed.
    ///
    /// ```
    /// # fn layer(layer: idem_tower::IdempotencyLayer<sqlx::Sqlite>)
    /// #     -> idem_tower::IdempotencyLayer<sqlx::Sqlite> {
    /// layer.on_replay(|_request, mut response| {
    ///     response.headers_mut().remove("x-download-link");
    ///     response
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn on_replay(
        self,
        edit: impl Fn(&Parts, Response<Buffered>) -> Response<Buffered> + Send + Sync + 'static,
    ) -> Self {
        self.with(|options| options.on_replay = Some(Arc::new(edit)))
    }

    /// Sets the limit of a request's body, in bytes; longer ones are refused with 413.
    #[must_use]
    pub fn request_limit(self, bytes: usize) -> Self {
        self.with(|options| options.request_limit = bytes)
    }

    /// Sets the limit of a recorded response's body, in bytes. It takes the place of the operation's
    /// `result_limit`, which does not apply.
    #[must_use]
    pub fn response_limit(self, bytes: usize) -> Self {
        self.with(|options| options.response_limit = bytes)
    }

    /// Sets the time in which the body of a recorded response must end after its headers. The lease is
    /// extended meanwhile.
    #[must_use]
    pub fn response_timeout(self, time: Duration) -> Self {
        self.with(|options| options.response_timeout = time)
    }

    /// Lets at most `runs` requests of this layer run at once; there is no limit by default.
    ///
    /// A run counts until it has ended, even if its client has disconnected; an outer limit
    /// (`tower::limit`) stops counting it then. A request over the limit is refused with 503 and
    /// `Retry-After` before it claims its key.
    #[must_use]
    pub fn max_concurrent(self, runs: usize) -> Self {
        self.with(|options| {
            options.runs = Some(Runs::at_most(runs));
        })
    }

    /// Changes the options that only the protocol has, for the crate of the protocol.
    #[must_use]
    pub fn with_options(self, change: impl FnOnce(&mut P::Options)) -> Self {
        self.with(|options| change(&mut options.protocol))
    }

    fn with(mut self, change: impl FnOnce(&mut LayerOptions<DB, P>)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

/// What only HTTP has.
impl<DB: LeaseBackend, U: WholeUri> ReplayLayer<DB, U> {
    /// Sets the methods that require a key; `POST` and `PATCH` by default. HTTP itself defines `PUT`
    /// and `DELETE` as idempotent (RFC 9110, section 9.2.2). `GET` includes `HEAD`.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with_options(|options| options.methods = methods.into_iter().collect())
    }

    /// Sets how a response is treated, by its status. The default:
    ///
    /// | status | under `OnLapse::Unknown` | under `OnLapse::Retry` |
    /// |---|---|---|
    /// | 2xx, 303 | recorded | recorded |
    /// | 101 | unknown: it cannot be recorded | unknown |
    /// | 5xx, 408 | unknown: the effect may have happened | released |
    /// | any other | released | released |
    ///
    /// Change it for a service that points to a created resource by 302, or that answers 503 only if it has
    /// done nothing.
    ///
    /// ```
    /// # fn layer(layer: idem_tower::IdempotencyLayer<sqlx::Sqlite>)
    /// #     -> idem_tower::IdempotencyLayer<sqlx::Sqlite> {
    /// use idem_tower::Keep;
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
        self.with_options(|options| options.keep = Some(keep))
    }
}

impl<DB: LeaseBackend, P: Protocol> Unscoped<DB, P> {
    /// Sets the function that returns the scope of a request's key: the tenant or principal that
    /// authentication set. If it returns `None`, the request is refused.
    pub fn scope(
        self,
        scope: impl Fn(&Parts) -> Option<Scope> + Send + Sync + 'static,
    ) -> ReplayLayer<DB, P> {
        let options = LayerOptions::new(self.pool, self.operation, Arc::new(scope));
        ReplayLayer(Arc::new(options))
    }

    /// Uses one scope for all requests to a host: all callers who send a key mean the same effect, and may see
    /// its response. The same key at another host is a mismatch.
    pub fn global(self) -> ReplayLayer<DB, P> {
        self.scope(|_| Some(Scope::GLOBAL))
    }
}

impl<DB: LeaseBackend, S, P: Protocol> Layer<S> for ReplayLayer<DB, P> {
    type Service = IdempotencyService<DB, S, P>;

    fn layer(&self, inner: S) -> IdempotencyService<DB, S, P> {
        IdempotencyService::new(inner, Arc::clone(&self.0))
    }
}

// Derived implementations would require `Clone` and `Debug` of the database.

impl<DB: LeaseBackend, P: Protocol> Clone for ReplayLayer<DB, P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<DB: LeaseBackend, P: Protocol> fmt::Debug for ReplayLayer<DB, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer")
            .field("operation", &self.0.operation)
            .field("protocol", &self.0.protocol)
            .field("recorded", &self.0.recorded)
            .finish_non_exhaustive()
    }
}

impl<DB: LeaseBackend, P> fmt::Debug for Unscoped<DB, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unscoped")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
