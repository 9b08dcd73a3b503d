//! Whole responses, replayed: a tower layer for services that have no transaction.
//!
//! Prefer `#[idempotent]` over a handler that takes a transaction: there the effect and its record
//! commit together. This layer is for what cannot have that, another service's API by habit. It runs
//! the inner service in [lease mode](idem_runtime::lease), detached from the client's connection.
//!
//! In this order:
//!
//! 1. A method that is not asked for a key passes through (`POST` and `PATCH` are asked; where `GET` is,
//!    `HEAD` is too, as routers serve it by the same handler).
//! 2. The key is read as [`header`](super::header) says. None: refused, or passed through where
//!    [`optional_key`](IdempotencyLayer::optional_key) allows it.
//! 3. The scope function says whose the key is. `None`: refused, never a scope that all share.
//! 4. The body is read, up to a limit, and the request is compared with the key's first one.
//! 5. The claim. A duplicate is answered with the recorded response, 409 or 422.
//! 6. The inner service, in a task of its own: a client that goes away does not stop it.
//! 7. Its response. By status ([`keep`](IdempotencyLayer::keep)) it is recorded, or passed on with
//!    the key released or its outcome unknown.
//!
//! # What is compared
//!
//! - Method, whole path (also inside `Router::nest`) and query.
//! - Under [`Scope::GLOBAL`] the host too: `:authority` or `Host`, not what a proxy adds.
//! - `Content-Type`, as parsed: case, order of parameters, quotes and the `charset=utf-8` of JSON and of
//!   URL-encoded forms make no difference.
//! - `Content-Encoding`, `Content-Language`, `Content-Location`, `Content-Range`, and whatever else
//!   [`compare_headers`](IdempotencyLayer::compare_headers) names. Of each header all values, in their order.
//! - The body. JSON by its canonical form. Multipart without its boundary, which clients make anew for
//!   each attempt: the parts in their order, each with its headers (name, file name, type) and bytes. All
//!   else byte for byte: decompress further out, as no two compressions need be the same.
//!
//! A multipart body whose boundary could be read in more than one way (lines that do not end with CRLF,
//! a boundary inside a part, none at the end), or that is compressed, is refused with 400 at the first
//! call: an honest retry could not be told from another request.
//!
//! # What is recorded
//!
//! The status, headers, the whole body and trailers; also of a body whose length is not known before, if
//! it ends [in time](IdempotencyLayer::response_timeout). The first answer is the inner service's response as it is, with
//! its body read; a replay has what is recorded, and `Idempotent-Replayed: true`. What layers further
//! out add, they add to both.
//!
//! All headers are recorded, at most 64 KiB of them, but for:
//!
//! - those of the connection (RFC 9110, section 7.6.1), which nobody can have recorded: `Connection` and
//!   what it names, `Content-Length` (but for `HEAD`), `HTTP2-Settings`, `Keep-Alive`, `Proxy-Authenticate`,
//!   `Proxy-Authentication-Info`, `Proxy-Connection`, `TE`, `Transfer-Encoding`, `Upgrade`, `Via`, and the
//!   layer's own `Idempotent-Replayed`;
//! - those of the moment: `Age`, `Alt-Svc`, `Cache-Status`, `CF-Ray`, `Date`, `Server`, `Server-Timing`,
//!   `Traceparent`, `Traceresponse`, `Tracestate`, `X-Amz-Cf-Id`, `X-Amz-Id-2`, `X-Cache`,
//!   `X-Cloud-Trace-Context`, `X-Process-Time`, `X-Response-Time`, `X-Runtime`, `X-Served-By`, `X-Timer`,
//!   `X-Trace`, and names with one of these in them: `correlation-id`, `quota`, `rate-limit`, `ratelimit`,
//!   `request-id`, `requestid`, `span-id`, `trace-id`, `x-b3-`;
//! - those that hold secrets: names with `api-key` in them, or with one of these words between their
//!   hyphens: `apikey`, `auth`, `authentication`, `authorization`, `cookie`, `cookie2`, `csrf`, `jwt`, `nonce`,
//!   `passwd`, `password`, `secret`, `session`, `sessionid`, `token`, `tokens`, `xsrf`. So is `Set-Cookie`. A
//!   session that is lost is made anew; one at rest in a table, shown again to whoever has the key,
//!   cannot be taken back.
//!
//! [`record_headers`](IdempotencyLayer::record_headers), [`omit_headers`](IdempotencyLayer::omit_headers) and
//! [`headers`](IdempotencyLayer::headers) say otherwise. A `CorsLayer` belongs further out, where it also reaches
//! refusals: one inside is replayed with the origin of the first request.
//!
//! # Responses that cannot be recorded
//!
//! One that does not end in time (server-sent events), one over the limit, one that breaks off, an upgraded
//! connection, one with a `Content-Encoding` (compress further out). The inner service is not asked for
//! the last two: its request has no `Upgrade`, and `Accept-Encoding: identity`. Nothing is ever cut: the
//! client is told `response-not-storable`, and because the effect has happened and its answer is not
//! recorded, the key's outcome is *unknown* until somebody [reconciles](idem_runtime::lease) it.
//!
//! # Responses that leave it open
//!
//! A 502, a 504 or any other 5xx, or a 408, does not say whether the effect happened; nor does an error
//! of the inner service in place of a response. What that means is the operation's to say, as it is of a
//! lapse: under [`OnLapse::Retry`](idem_runtime::policy::OnLapse::Retry) the key is released and a retry runs the service again, under
//! [`OnLapse::Unknown`](idem_runtime::policy::OnLapse::Unknown) the outcome is unknown and waits for reconciliation.
//!
//! # Order of layers
//!
//! Inside authentication and authorisation, which must be asked for a replay too, and outside what
//! must happen once. Extractors of the inner handlers do not run on a replay; what they would refuse,
//! [`authorize_replay`](IdempotencyLayer::authorize_replay) must.
//!
//! Add it to axum's method routers: `post(charge).route_layer(layer)`. `Router::layer` and
//! `Router::route_layer` put it around the 405 of each route too (and the former around the router's 404):
//! there a request without a key is asked for one before the router can say that it does not serve the
//! method.

mod body;
mod keep;
mod media_type;
mod multipart;
mod options;
mod recorded;
mod service;
mod stored;
mod subject;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, Method, StatusCode};
use idem_runtime::store::LeaseBackend;
use idem_runtime::{LeasedOperation, Scope};
use sqlx::Pool;
use tower_layer::Layer;

pub use self::keep::Keep;
use self::options::{LayerOptions, Runs};
pub use self::service::IdempotencyService;

/// The most that a request's or a response's body may have, unless the layer says otherwise: 1 MiB.
pub const DEFAULT_BODY_LIMIT: usize = 1024 * 1024;

/// In which time a response's body must end, unless the layer says otherwise: 30 seconds.
pub const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Replays whole responses. See [the module](self).
///
/// ```
/// # fn app(pool: sqlx::SqlitePool) -> axum::Router {
/// use std::time::Duration;
///
/// use axum::{Router, routing::post};
/// use idem_axum::IdempotencyLayer;
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::{LeasedOperation, Operation, Scope};
///
/// const RELAY: LeasedOperation =
///     Operation::new("relay", "http").lease(Duration::from_secs(60), OnLapse::Unknown);
///
/// let layer = IdempotencyLayer::new(pool, RELAY)
///     // Whose request it is, as your authentication left it.
///     .scope(|request| request.extensions.get::<Scope>().cloned())
///     .response_limit(64 * 1024);
/// // Stands for a handler that charges a card at another service.
/// Router::new().route("/charges", post("charged").route_layer(layer))
/// # }
/// ```
pub struct IdempotencyLayer<DB: LeaseBackend>(Arc<LayerOptions<DB>>);

/// A layer that does not know yet whose keys it reads: [`scope`](Self::scope) it, or make it
/// [`global`](Self::global).
///
/// ```compile_fail
/// # use idem_axum::IdempotencyLayer;
/// # use {idem_runtime::{LeasedOperation, Operation, policy::OnLapse}, std::time::Duration};
/// # const MINUTE: Duration = Duration::from_secs(60);
/// # fn app(pool: sqlx::SqlitePool, router: axum::Router) -> axum::Router {
/// const RELAY: LeasedOperation = Operation::new("relay", "http").lease(MINUTE, OnLapse::Retry);
/// router.route_layer(IdempotencyLayer::new(pool, RELAY)) // whose keys?
/// # }
/// ```
#[must_use = "say whose the keys are: `.scope(..)` or `.global()`"]
pub struct Unscoped<DB: LeaseBackend> {
    pool: Pool<DB>,
    operation: LeasedOperation,
}

impl<DB: LeaseBackend> IdempotencyLayer<DB> {
    /// A layer that keeps its records through `pool`, under `operation`'s namespace, retention and
    /// lease. An operation without a lease does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use idem_axum::IdempotencyLayer;
    /// # use idem_runtime::Operation;
    /// # fn app(pool: sqlx::SqlitePool) {
    /// IdempotencyLayer::new(pool, Operation::new("relay", "http"));
    /// # }
    /// ```
    #[expect(clippy::new_ret_no_self, reason = "without a scope it is no layer yet")]
    pub fn new(pool: Pool<DB>, operation: LeasedOperation) -> Unscoped<DB> {
        Unscoped { pool, operation }
    }

    /// The methods that are asked for a key; `POST` and `PATCH` by default. HTTP itself makes `PUT`
    /// and `DELETE` idempotent (RFC 9110, section 9.2.2). With `GET` comes `HEAD`.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with(|options| options.methods = methods.into_iter().collect())
    }

    /// Lets requests without a key pass, unprotected. One that has a key under a name that is not read
    /// here (`X-Idempotency-Key` under [`Syntax::Strict`](super::Syntax::Strict)) is refused.
    #[must_use]
    pub fn optional_key(self) -> Self {
        self.with(|options| options.requires_key = false)
    }

    /// Compares these headers of a request too, with all their values. They are kept in the record, as
    /// the rest of the request is: name none that holds a secret.
    #[must_use]
    pub fn compare_headers(self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.with(|options| options.compared.extend(headers))
    }

    /// Records these headers of a response, and no others, in place of [the rule](self#what-is-recorded).
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
    /// # fn layer(layer: idem_axum::IdempotencyLayer<sqlx::Sqlite>)
    /// #     -> idem_axum::IdempotencyLayer<sqlx::Sqlite> {
    /// use idem_axum::Keep;
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

    /// Asked before a recorded response is shown: whether this request may see it. `false` is
    /// answered 403.
    #[must_use]
    pub fn authorize_replay(
        self,
        may_replay: impl Fn(&Parts) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(|options| options.may_replay = Some(Arc::new(may_replay)))
    }

    /// The longest body of a request, in bytes; longer ones are refused with 413.
    #[must_use]
    pub fn request_limit(self, bytes: usize) -> Self {
        self.with(|options| options.request_limit = bytes)
    }

    /// The longest body of a response that is recorded, in bytes.
    #[must_use]
    pub fn response_limit(self, bytes: usize) -> Self {
        self.with(|options| options.response_limit = bytes)
    }

    /// The time in which the body of a response that is recorded must end, once its head is there. The
    /// lease is kept meanwhile.
    #[must_use]
    pub fn response_timeout(self, time: Duration) -> Self {
        self.with(|options| options.response_timeout = time)
    }

    /// Lets at most `runs` requests of this layer be under way at once; there is no limit by default.
    ///
    /// A run counts until it has ended, also when its client has hung up: a limit further out
    /// (`tower::limit`) loses sight of it then. A request over the limit is refused with 503 and
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

impl<DB: LeaseBackend> Unscoped<DB> {
    /// Whose a request's key is: a tenant or a principal, as authentication left it. `None` is
    /// refused.
    pub fn scope(
        self,
        scope: impl Fn(&Parts) -> Option<Scope> + Send + Sync + 'static,
    ) -> IdempotencyLayer<DB> {
        IdempotencyLayer(Arc::new(LayerOptions::new(
            self.pool,
            self.operation,
            Arc::new(scope),
        )))
    }

    /// One scope for all requests to a host: whoever sends a key means the same effect, and may see its
    /// response. The same key at another host is a mismatch.
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

impl<DB: LeaseBackend> fmt::Debug for IdempotencyLayer<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer")
            .field("operation", &self.0.operation)
            .field("methods", &self.0.methods)
            .field("recorded", &self.0.recorded)
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
