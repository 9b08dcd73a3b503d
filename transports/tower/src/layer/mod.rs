//! A tower layer that replays whole responses, for services that have no transaction.
//!
//! Prefer `#[idempotent]` on a handler that takes a transaction: there the effect and its record
//! commit together. This layer is for effects outside the database, typically calls to another service's
//! API. It runs the inner service in [lease mode](idem_runtime::lease), detached from the client's connection.
//!
//! The steps, in this order:
//!
//! 1. A request with a method that requires no key passes through. `POST` and `PATCH` require one; if `GET`
//!    does, `HEAD` does too, because routers serve it by the same handler.
//! 2. The key is read as [`header`](super::header) describes. A request without a key is refused, or passed
//!    through if [`optional_key`](IdempotencyLayer::optional_key) allows it.
//! 3. The scope function returns the scope of the key. If it returns `None`, the request is refused.
//! 4. The body is read, up to a limit, and the request is compared with the first one of the key.
//! 5. The key is claimed. A duplicate gets the recorded response, 409 or 422.
//! 6. The inner service runs in a separate task: a client that disconnects does not stop it.
//! 7. Its response is recorded, or returned with the key released or its outcome unknown, depending on
//!    its status ([`keep`](IdempotencyLayer::keep)).
//!
//! # What is compared
//!
//! - Method, whole path ([`WholeUri`]) and query.
//! - Under [`Scope::GLOBAL`] the host too: `:authority` or `Host`, not what a proxy adds.
//! - `Content-Type`, as parsed: case, order of parameters, quotes and the `charset=utf-8` of JSON and of
//!   URL-encoded forms make no difference.
//! - `Content-Encoding`, `Content-Language`, `Content-Location`, `Content-Range`, and the headers of
//!   [`compare_headers`](IdempotencyLayer::compare_headers). All values of a header, in their order.
//! - The body. JSON is compared by its canonical form. Multipart is compared without its boundary, which
//!   clients create anew for each attempt: the parts in their order, each with its headers (name, file name,
//!   type) and bytes. Other bodies are compared byte for byte: decompress in an outer layer, because two
//!   compressions may differ.
//!
//! Trailers of a request are neither compared nor handed on to the inner service.
//!
//! A multipart body is refused with 400 at the first call if it is compressed, or if its boundary is
//! ambiguous (lines that do not end with CRLF, a boundary inside a part, none at the end): a retry could not
//! be told from a different request.
//!
//! # What is recorded
//!
//! The status, headers, the whole body and trailers. A body of undeclared length is recorded if it ends
//! [in time](IdempotencyLayer::response_timeout). The first caller gets the inner service's response, with
//! its body read into memory; a replay is the recorded response, with `Idempotent-Replayed: true`. Headers
//! that outer layers add are added to both.
//!
//! All headers are recorded, at most 64 KiB of them, except:
//!
//! - those of the connection (RFC 9110, section 7.6.1), which can never be recorded: `Connection` and the
//!   headers it names, `Content-Length` (except for `HEAD`), `HTTP2-Settings`, `Keep-Alive`, `Proxy-Authenticate`,
//!   `Proxy-Authentication-Info`, `Proxy-Connection`, `TE`, `Transfer-Encoding`, `Upgrade`, `Via`, and the
//!   layer's own `Idempotent-Replayed`;
//! - those of the moment: `Age`, `Alt-Svc`, `Cache-Status`, `CF-Ray`, `Date`, `Server`, `Server-Timing`,
//!   `Traceparent`, `Traceresponse`, `Tracestate`, `X-Amz-Cf-Id`, `X-Amz-Id-2`, `X-Cache`,
//!   `X-Cloud-Trace-Context`, `X-Process-Time`, `X-Response-Time`, `X-Runtime`, `X-Served-By`, `X-Timer`,
//!   `X-Trace`, and names that contain one of these: `correlation-id`, `quota`, `rate-limit`, `ratelimit`,
//!   `request-id`, `requestid`, `span-id`, `trace-id`, `x-b3-`;
//! - those that hold secrets: names that contain `api-key`, or have one of these words between their
//!   hyphens: `apikey`, `auth`, `authentication`, `authorization`, `cookie`, `cookie2`, `csrf`, `jwt`, `nonce`,
//!   `passwd`, `password`, `secret`, `session`, `sessionid`, `token`, `tokens`, `xsrf`. `Set-Cookie` is one of
//!   them. A lost session can be created again, but a session that is stored in a table, and returned to
//!   everyone who has the key, cannot be revoked.
//!
//! [`record_headers`](IdempotencyLayer::record_headers), [`omit_headers`](IdempotencyLayer::omit_headers) and
//! [`headers`](IdempotencyLayer::headers) change this. Use a `CorsLayer` as an outer layer, where it also covers
//! refusals: an inner one is replayed with the origin of the first request.
//!
//! # Responses that cannot be recorded
//!
//! A response cannot be recorded if it does not end in time (server-sent events), is over the limit, breaks
//! off, upgrades the connection, or has a `Content-Encoding` (compress in an outer layer). To avoid the last
//! two, the inner service gets a request without `Upgrade`, and with `Accept-Encoding: identity`. A response
//! is never truncated: the client gets `response-not-storable`. Because the effect has happened but its
//! response is not recorded, the key's outcome is *unknown* until it is [settled by hand](idem_runtime::lease).
//!
//! # Responses that leave the outcome open
//!
//! A 502, a 504 or any other 5xx, or a 408, does not say whether the effect happened. Neither does an error
//! that the inner service returns in place of a response. The operation decides, as it does for a lapsed
//! lease: under [`OnLapse::Retry`](idem_runtime::policy::OnLapse::Retry) the key is released and a retry runs the service again, under
//! [`OnLapse::Unknown`](idem_runtime::policy::OnLapse::Unknown) the outcome is unknown and must be settled by hand.
//!
//! # Order of layers
//!
//! Put the layer inside authentication and authorisation, which must check replays too, and outside
//! everything that must happen once. Extractors of the inner handlers do not run on a replay: repeat their
//! checks in [`authorize_replay`](IdempotencyLayer::authorize_replay).
//!
//! Add it to single routes rather than around a router: a request without a key is otherwise refused for its missing
//! key before the router can say that it does not serve the method.

mod body;
mod keep;
mod media_type;
mod multipart;
mod options;
mod recorded;
mod service;
mod stored;
mod subject;
mod whole_uri;

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

pub use self::keep::Keep;
use self::options::{LayerOptions, Runs};
pub use self::service::IdempotencyService;
pub use self::whole_uri::{AsReceived, WholeUri};
use crate::body::Buffered;

/// The default limit of a request's or a response's body: 1 MiB.
pub const DEFAULT_BODY_LIMIT: usize = 1024 * 1024;

/// The default time in which a response's body must end: 30 seconds.
pub const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Replays whole responses of a service that gets its requests as they were received. See [the module](self).
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

/// Replays whole responses, behind a router of which `U` knows the whole path. `IdempotencyLayer` is this with the
/// `U` of its crate.
pub struct ReplayLayer<DB: LeaseBackend, U>(Arc<LayerOptions<DB>>, PhantomData<fn() -> U>);

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
pub struct Unscoped<DB: LeaseBackend, U> {
    pool: Pool<DB>,
    operation: LeasedOperation,
    whole_uri: PhantomData<fn() -> U>,
}

impl<DB: LeaseBackend, U> ReplayLayer<DB, U> {
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
    pub fn new(pool: Pool<DB>, operation: LeasedOperation) -> Unscoped<DB, U> {
        Unscoped {
            pool,
            operation,
            whole_uri: PhantomData,
        }
    }

    /// Sets the methods that require a key; `POST` and `PATCH` by default. HTTP itself defines `PUT`
    /// and `DELETE` as idempotent (RFC 9110, section 9.2.2). `GET` includes `HEAD`.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with(|options| options.methods = methods.into_iter().collect())
    }

    /// Lets requests without a key pass, unprotected. A request with a key under a name that is not read
    /// (`X-Idempotency-Key` under [`Syntax::Strict`](super::Syntax::Strict)) is refused.
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

    /// Records only these headers of a response, instead of those of [the default rule](self#what-is-recorded).
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
        self.with(|options| options.keep = Some(keep))
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

    fn with(mut self, change: impl FnOnce(&mut LayerOptions<DB>)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl<DB: LeaseBackend, U> Unscoped<DB, U> {
    /// Sets the function that returns the scope of a request's key: the tenant or principal that
    /// authentication set. If it returns `None`, the request is refused.
    pub fn scope(
        self,
        scope: impl Fn(&Parts) -> Option<Scope> + Send + Sync + 'static,
    ) -> ReplayLayer<DB, U> {
        let options = LayerOptions::new(self.pool, self.operation, Arc::new(scope));
        ReplayLayer(Arc::new(options), PhantomData)
    }

    /// Uses one scope for all requests to a host: all callers who send a key mean the same effect, and may see
    /// its response. The same key at another host is a mismatch.
    pub fn global(self) -> ReplayLayer<DB, U> {
        self.scope(|_| Some(Scope::GLOBAL))
    }
}

impl<DB: LeaseBackend, S, U> Layer<S> for ReplayLayer<DB, U> {
    type Service = IdempotencyService<DB, S, U>;

    fn layer(&self, inner: S) -> IdempotencyService<DB, S, U> {
        IdempotencyService::new(inner, Arc::clone(&self.0))
    }
}

// Derived implementations would require `Clone` and `Debug` of the database.

impl<DB: LeaseBackend, U> Clone for ReplayLayer<DB, U> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), PhantomData)
    }
}

impl<DB: LeaseBackend, U> fmt::Debug for ReplayLayer<DB, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer")
            .field("operation", &self.0.operation)
            .field("methods", &self.0.methods)
            .field("recorded", &self.0.recorded)
            .finish_non_exhaustive()
    }
}

impl<DB: LeaseBackend, U> fmt::Debug for Unscoped<DB, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unscoped")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
