//! A layer that changes the rules of the HTTP edge for a router.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use idem_runtime::IdempotencyKey;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::MaybeBuffered;
use crate::edit;
use crate::header::{self, Syntax};
use crate::options::{Documentation, InFlightAnswer, PolicyOptions};

/// A tower layer that sets how a router reads keys and answers refusals. It applies to everything inside
/// it; of two layers the inner one applies.
///
/// It edits refusals and creates none: it replaces the library's status, `Link`, `Location` and body by
/// those of its rules. Values that a handler or an inner layer has set stay, and so do all other headers. A
/// body that was encoded or replaced inside stays too: compress in an outer layer.
///
/// ```
/// use http::{Request, Response, StatusCode};
/// use idem_tower::{HttpPolicy, InFlightAnswer};
/// use tower::{ServiceBuilder, service_fn};
///
/// let policy = HttpPolicy::new()
///     .strict()
///     .mismatch(StatusCode::CONFLICT)
///     .in_flight(InFlightAnswer::status_at("/operations")) // where a `StatusResource` answers
///     .documentation("https://developer.example.com/idempotency");
/// let orders = service_fn(async |_: Request<String>| {
///     Ok::<_, std::io::Error>(Response::new("placed".to_owned()))
/// });
/// let service = ServiceBuilder::new().layer(policy).service(orders);
/// # let _ = service;
/// ```
#[derive(Debug, Clone, Default)]
pub struct HttpPolicy(Arc<PolicyOptions>);

impl HttpPolicy {
    /// Creates a policy with the default rules: lenient syntax, the statuses of
    /// [`Error::status`](idem_runtime::Error::status).
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads only what the IETF draft allows ([`Syntax::Strict`]).
    #[must_use]
    pub fn strict(self) -> Self {
        self.with(|options| options.syntax = Syntax::Strict)
    }

    /// Sets the status of a mismatch, 422 by default; other services use 409.
    #[must_use]
    pub fn mismatch(self, status: StatusCode) -> Self {
        self.with(|options| options.mismatch = Some(status))
    }

    /// Sets the response for a key in flight.
    #[must_use]
    pub fn in_flight(self, answer: InFlightAnswer) -> Self {
        self.with(|options| options.in_flight = answer)
    }

    /// Sets the base of the problem types, `{base}#{code}`.
    #[must_use]
    pub fn problem_types(self, base: impl Into<String>) -> Self {
        let base = base.into();
        self.with(|options| options.type_base = Some(base))
    }

    /// Sets the page that explains your rules to people; each problem and its `Link` name it.
    #[must_use]
    pub fn documentation(self, url: impl Into<String>) -> Self {
        let url = url.into();
        self.with(|options| options.documentation = Documentation::Page(url))
    }

    /// Removes the page for people: problems have no `documentation`, and no `Link` to it.
    #[must_use]
    pub fn without_documentation(self) -> Self {
        self.with(|options| options.documentation = Documentation::None)
    }

    /// Shows in a mismatch where the request differs from the first one with its key: the member `differing`, a list of JSON
    /// pointers without values. Only operations that record requests know it (`record_request`, or a lease).
    #[must_use]
    pub fn show_differing(self) -> Self {
        self.with(|options| options.shows_differing = true)
    }

    fn with(mut self, change: impl FnOnce(&mut PolicyOptions)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    #[cfg(feature = "openapi")]
    pub(crate) fn options(&self) -> &PolicyOptions {
        &self.0
    }

    /// Returns the syntax by which keys are read, for the edge of a framework without tower's layers.
    pub fn syntax(&self) -> Syntax {
        self.0.syntax
    }

    /// Returns the key of a request if its refusal may name it: under [`InFlightAnswer::Accepted`]. An invalid key is
    /// refused inside.
    pub fn status_key(&self, headers: &HeaderMap) -> Option<IdempotencyKey> {
        match self.0.in_flight {
            InFlightAnswer::Accepted(_) => header::key(headers, self.0.syntax).ok().flatten(),
            InFlightAnswer::Conflict | InFlightAnswer::TooEarly => None,
        }
    }

    /// Edits a response as the layer does, for the edge of a framework without tower's layers. A refusal is known by the
    /// [`Problem`](crate::Problem) in its extensions; `key` is that of [`status_key`](Self::status_key).
    pub async fn edit<B: Body<Data = Bytes>>(
        &self,
        key: Option<&IdempotencyKey>,
        response: Response<B>,
    ) -> Response<MaybeBuffered<B>> {
        match edit::begin(&self.0, key, response) {
            Ok(response) => response.map(MaybeBuffered::passed),
            Err(editing) => editing.finish().await,
        }
    }
}

impl<S> Layer<S> for HttpPolicy {
    type Service = HttpPolicyService<S>;

    fn layer(&self, inner: S) -> HttpPolicyService<S> {
        HttpPolicyService {
            inner,
            policy: self.clone(),
        }
    }
}

/// The service of [`HttpPolicy`].
#[derive(Debug, Clone)]
pub struct HttpPolicyService<S> {
    inner: S,
    policy: HttpPolicy,
}

impl<S, B, R> Service<Request<B>> for HttpPolicyService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<MaybeBuffered<R>>;
    type Error = S::Error;
    type Future = HttpPolicyFuture<S::Future, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let policy = self.policy.clone();
        let key = policy.status_key(request.headers());
        // The extractor and inner layers read the key by this syntax.
        request.extensions_mut().insert(policy.syntax());
        HttpPolicyFuture {
            response: self.inner.call(request),
            policy,
            key,
            edit: None,
        }
    }
}

/// A refusal whose body is being read and replaced.
type Editing<R> = Pin<Box<dyn Future<Output = Response<MaybeBuffered<R>>> + Send>>;

pin_project! {
    /// The future of [`HttpPolicyService`].
    pub struct HttpPolicyFuture<F, R> {
        #[pin]
        response: F,
        policy: HttpPolicy,
        key: Option<IdempotencyKey>,
        // Editing the refusal.
        edit: Option<Editing<R>>,
    }
}

impl<F, R, E> Future for HttpPolicyFuture<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body<Data = Bytes> + Send + 'static,
{
    type Output = Result<Response<MaybeBuffered<R>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let edit = if let Some(edit) = this.edit {
            edit
        } else {
            let response = ready!(this.response.poll(context))?;
            match edit::begin(&this.policy.0, this.key.as_ref(), response) {
                Ok(response) => return Poll::Ready(Ok(response.map(MaybeBuffered::passed))),
                Err(editing) => this.edit.insert(Box::pin(editing.finish())),
            }
        };
        edit.as_mut().poll(context).map(Ok)
    }
}
