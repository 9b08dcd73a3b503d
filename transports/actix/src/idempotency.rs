//! A middleware that replays whole responses, for services that have no transaction.

use std::fmt;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{Extensions, Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::error::{ErrorInternalServerError, InternalError};
use actix_web::{Error, HttpMessage as _, HttpResponse};
use http::request::Parts;
use idem_runtime::store::LeaseBackend;
use idem_tower::{IdempotencyLayer, MaybeBuffered};
use tokio::sync::oneshot::error::RecvError;

use crate::convert::{self, RequestBody, copy_extension};
use crate::handoff::{self, OfService, OnWorker, WorkerGone};
use crate::sent_body::SentBody;

/// A middleware that replays whole responses of what is inside it, for services without a transaction: calls to another
/// service's API, above all. It is [`IdempotencyLayer`] in actix's types, and [`idem_tower::layer`] says what is compared, what is
/// recorded, and what becomes of a response that cannot be.
///
/// Prefer `#[idempotent]` on a handler that takes a transaction: there the effect and its record commit together.
///
/// ```
/// use std::time::Duration;
///
/// use actix_web::{App, web};
/// use idem_actix::{Idempotency, IdempotencyLayer};
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::{LeasedOperation, Operation, Scope};
///
/// const RELAY: LeasedOperation = Operation::new("relay", "http").lease(Duration::from_secs(60), OnLapse::Unknown);
///
/// // Stands for a handler that charges a card at another service.
/// async fn charge() -> &'static str { "charged" }
///
/// # fn app(pool: sqlx::SqlitePool) {
/// let layer = IdempotencyLayer::new(pool, RELAY)
///     // The scope that your authentication put into the extensions of the request.
///     .scope(|request| request.extensions.get::<Scope>().cloned())
///     .response_limit(64 * 1024);
/// let charges = web::resource("/charges").route(web::post().to(charge)).wrap(Idempotency::new(layer));
/// let app = App::new().service(charges);
/// # let _ = app; }
/// ```
///
/// # What runs, and where
///
/// The service inside runs in a task of its own on the request's worker: a client that disconnects does not stop it, and a panic
/// before its response ends it as a lapse of its lease would. The end of the worker stops it. Before the server is stopped, refuse new
/// runs with [`idem_runtime::lease::set_max_concurrent`]`(0)`, and wait for those that run with [`idem_runtime::lease::drain`], under
/// a time-out.
///
/// Among the extensions of the request that it gets is the [`Attempt`](idem_runtime::Attempt), whose
/// [`external_key`](idem_runtime::Attempt::external_key) it gives to its provider.
///
/// A middleware inside that fails with an `Err` is judged by the status of its error's response. The middlewares outside get an
/// [`InternalError`] with that error and that response, also where the response is recorded; its replay is a response.
///
/// A middleware outside must keep no clone of the [`HttpRequest`](actix_web::HttpRequest): actix lets nobody edit a request that was
/// cloned, and the middleware panics before it claims the key.
///
/// Requests that need no key pass to the service as they are. Of all others the body is read first, and the whole of it is what
/// the service gets. The middleware compares the request's URI, of which actix cuts nothing, in a scope or a resource.
pub struct Idempotency<DB: LeaseBackend> {
    layer: IdempotencyLayer<DB>,
    extensions: Vec<CopyExtension>,
}

type CopyExtension = fn(&Extensions, &mut http::Extensions);

impl<DB: LeaseBackend> Idempotency<DB> {
    /// Creates the middleware of this layer. Its functions see the head of a request, and of the extensions its
    /// [`Scope`](idem_runtime::Scope) and what [`extension`](Self::extension) adds.
    pub fn new(layer: IdempotencyLayer<DB>) -> Self {
        Self {
            layer,
            extensions: Vec::new(),
        }
    }

    /// Shows the layer's functions (`scope`, `authorize_replay`, `on_replay`) the extension of this type too. The extensions of an
    /// actix request may be bound to their thread; those that the layer sees are copies.
    ///
    /// ```
    /// # use idem_actix::{Idempotency, IdempotencyLayer};
    /// # use idem_runtime::{LeasedOperation, Scope};
    /// #[derive(Clone)]
    /// struct Account { tenant: Scope }
    ///
    /// # fn middleware(pool: sqlx::SqlitePool, relay: LeasedOperation) -> Idempotency<sqlx::Sqlite> {
    /// let layer = IdempotencyLayer::new(pool, relay)
    ///     .scope(|request| Some(request.extensions.get::<Account>()?.tenant.clone()));
    /// Idempotency::new(layer).extension::<Account>()
    /// # }
    /// ```
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        self.extensions.push(copy_extension::<T>);
        self
    }

    /// Returns what the layer sees of a request.
    fn parts(&self, request: &ServiceRequest) -> Option<Parts> {
        let mut parts = convert::parts(request.request())?;
        for copy in &self.extensions {
            copy(&request.extensions(), &mut parts.extensions);
        }
        Some(parts)
    }
}

// Derived implementations would require `Clone` and `Debug` of the database.

impl<DB: LeaseBackend> Clone for Idempotency<DB> {
    fn clone(&self) -> Self {
        Self {
            layer: self.layer.clone(),
            extensions: self.extensions.clone(),
        }
    }
}

impl<DB: LeaseBackend> fmt::Debug for Idempotency<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Idempotency").field(&self.layer).finish()
    }
}

impl<DB, S, B> Transform<S, ServiceRequest> for Idempotency<DB>
where
    DB: LeaseBackend,
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = IdempotencyMiddleware<DB, S>;
    type InitError = ();
    type Future = Ready<Result<IdempotencyMiddleware<DB, S>, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(IdempotencyMiddleware {
            service: Rc::new(service),
            rules: self.clone(),
        }))
    }
}

/// The service of [`Idempotency`].
pub struct IdempotencyMiddleware<DB: LeaseBackend, S> {
    service: Rc<S>,
    rules: Idempotency<DB>,
}

impl<DB: LeaseBackend, S> fmt::Debug for IdempotencyMiddleware<DB, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyMiddleware")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl<DB, S, B> Service<ServiceRequest> for IdempotencyMiddleware<DB, S>
where
    DB: LeaseBackend,
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>>>>;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.service.poll_ready(context)
    }

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let refused = |request: ServiceRequest, refusal: HttpResponse| {
            let response = request.into_response(refusal.map_into_right_body());
            Box::pin(ready(Ok(response)))
        };
        let Some(parts) = self.rules.parts(&request) else {
            return refused(request, HttpResponse::BadRequest().finish());
        };
        let key = match self.rules.layer.key(&parts) {
            Ok(Some(key)) => key,
            Ok(None) => {
                let response = self.service.call(request);
                return Box::pin(async move { Ok(response.await?.map_into_left_body()) });
            }
            Err(refusal) => return refused(request, convert::response(*refusal)),
        };
        // Panics if the request was cloned, as the same does in any service inside: nothing is claimed yet.
        let _ = request.headers_mut();
        let (request, payload) = request.into_parts();
        let body = RequestBody::of(payload, &parts.headers);
        let (handoff, on_worker) = handoff::prepare(Rc::clone(&self.service), request);
        let layer = self.rules.layer.clone();
        Box::pin(async move {
            let plain = http::Request::from_parts(parts, body);
            let answer = layer
                .answer(key, plain, |request| handoff.call(request))
                .await;
            answered(answer, on_worker.await)
        })
    }
}

/// Joins the layer's answer with what has stayed on the worker.
fn answered<B: MessageBody>(
    answer: Result<http::Response<MaybeBuffered<SentBody>>, WorkerGone>,
    on_worker: Result<OnWorker, RecvError>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let answer = answer.map_err(ErrorInternalServerError)?;
    let is_of_service = answer.extensions().get::<OfService>().is_some();
    let (parts, body) = answer.into_parts();
    let body = match body {
        MaybeBuffered::Passed { body } => BoxBody::new(body),
        MaybeBuffered::Buffered { body } => BoxBody::new(body.data().clone()),
    };
    let made = |body| convert::response_of(parts, body);
    match on_worker {
        Ok(OnWorker::Response(request, head)) if is_of_service => {
            let response = head.set_body(EitherBody::right(body));
            Ok(ServiceResponse::new(request, response))
        }
        Ok(OnWorker::Request(request) | OnWorker::Response(request, _)) => {
            let response = made(body).map_into_right_body();
            Ok(ServiceResponse::new(request, response))
        }
        // With the response that was judged: an error may give it once only.
        Ok(OnWorker::Error(error)) => Err(InternalError::from_response(error, made(body)).into()),
        Err(_) => Err(InternalError::from_response(WorkerGone, made(body)).into()),
    }
}
