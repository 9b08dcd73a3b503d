//! The service of the layer: reads the request, claims the key, runs the inner service, records the response.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use idem_runtime::__transport::emit_refused;
use idem_runtime::http::Problem;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Attempt, Error, LeasedOperation};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tower_service::Service;

use super::Keep;
use super::body::{Unread, Unstorable, read};
use super::options::{LayerOptions, OnReplay};
use super::stored::Stored;
use super::subject::{Besides, Subject};
use crate::header::{self, Syntax};

/// The service of [`IdempotencyLayer`](super::IdempotencyLayer).
pub struct IdempotencyService<DB: LeaseBackend, S> {
    inner: S,
    options: Arc<LayerOptions<DB>>,
}

impl<DB: LeaseBackend, S> IdempotencyService<DB, S> {
    pub(super) fn new(inner: S, options: Arc<LayerOptions<DB>>) -> Self {
        Self { inner, options }
    }
}

impl<DB: LeaseBackend, S: Clone> Clone for IdempotencyService<DB, S> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.options))
    }
}

impl<DB: LeaseBackend, S> std::fmt::Debug for IdempotencyService<DB, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotencyService").finish_non_exhaustive()
    }
}

impl<DB, S> Service<Request<Body>> for IdempotencyService<DB, S>
where
    DB: LeaseBackend,
    S: Service<Request<Body>> + Clone + Send + 'static,
    S::Response: IntoResponse,
    S::Future: Send,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // Call the instance that `poll_ready` was called on; its clone is not ready.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        Box::pin(serve(ready, Arc::clone(&self.options), request))
    }
}

/// How a run ends without a recorded response.
enum Ended<E> {
    Refused(Error),
    /// The service's response, which is not recorded by its status.
    Passed(Box<Response>),
    /// The service's response, which should be recorded but cannot be.
    Unstorable(Unstorable),
    /// The service's error.
    Inner(E),
}

impl<E> From<Error> for Ended<E> {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

async fn serve<DB, S>(
    mut inner: S,
    options: Arc<LayerOptions<DB>>,
    request: Request<Body>,
) -> Result<Response, S::Error>
where
    DB: LeaseBackend,
    S: Service<Request<Body>> + Send + 'static,
    S::Response: IntoResponse,
    S::Future: Send,
    S::Error: Send + 'static,
{
    if !options.protects(request.method()) {
        return Ok(inner.call(request).await?.into_response());
    }
    let (parts, body) = request.into_parts();
    let syntax = parts.extensions.get::<Syntax>().copied();
    let key = match header::key(&parts.headers, syntax.unwrap_or_default()) {
        Ok(Some(key)) => key,
        Ok(None) if !options.requires_key && !header::has_unread(&parts.headers) => {
            let request = Request::from_parts(parts, body);
            return Ok(inner.call(request).await?.into_response());
        }
        Ok(None) => {
            let operation = format!("{} {}", parts.method, parts.uri.path()).into();
            return Ok(refused(options.operation, Error::KeyMissing { operation }));
        }
        Err(invalid) => return Ok(refused(options.operation, invalid.into())),
    };
    let Some(scope) = (options.scope)(&parts) else {
        let operation = options.operation.name().into();
        return Ok(refused(
            options.operation,
            Error::ScopeMissing { operation },
        ));
    };
    let may_replay = options.may_replay.as_ref().is_none_or(|may| may(&parts));
    let body = match read(body, options.request_limit).await {
        Ok(body) => body,
        Err(unread) => return Ok(not_read(unread, options.request_limit).into_response()),
    };
    let head = parts.clone();
    let besides = Besides {
        authority: scope.is_global(),
        headers: &options.compared,
    };
    let subject = match Subject::of(&head, &body, besides) {
        Ok(subject) => subject,
        Err(why) => return Ok(not_comparable(why).into_response()),
    };
    let mut request = Request::from_parts(parts, Body::from(body));
    ask_for_what_can_be_recorded(request.headers_mut());
    let permit = match options.enter() {
        Ok(permit) => permit,
        Err(error) => return Ok(refused(options.operation, error)),
    };
    let run_rules = Arc::clone(&options);
    let (answer, first) = oneshot::channel();
    let ran = options
        .operation
        .run(
            &options.pool,
            &key.scoped(scope),
            &subject,
            move |attempt| run(inner, run_rules, request, attempt, answer, permit),
        )
        .await;
    Ok(match ran {
        Ok(stored) if stored.replayed() && !may_replay => not_shown().into_response(),
        Ok(stored) if stored.replayed() => match &options.on_replay {
            Some(edit) => edited(&head, stored.into_response(), &**edit),
            None => stored.into_response(),
        },
        Ok(stored) => first_answer(first).unwrap_or_else(|| stored.into_response()),
        Err(Ended::Passed(response)) => *response,
        Err(Ended::Refused(error)) => error.into_response(),
        Err(Ended::Unstorable(why)) => not_storable(why).into_response(),
        Err(Ended::Inner(error)) => return Err(error),
    })
}

/// Returns a refusal before the call begins, and emits its event.
fn refused(operation: LeasedOperation, refusal: Error) -> Response {
    emit_refused(operation, &refusal);
    refusal.into_response()
}

/// Lets the user's function edit a replay. Its length is that of the edited body, which the server finds out.
fn edited(head: &Parts, mut replay: Response, edit: &OnReplay) -> Response {
    if head.method != Method::HEAD {
        replay.headers_mut().remove(CONTENT_LENGTH);
    }
    edit(head, replay)
}

/// The inner service's response. A record holds less: no headers of the moment, no extensions.
fn first_answer(mut first: oneshot::Receiver<Response>) -> Option<Response> {
    first.try_recv().ok()
}

/// Removes the request's headers about upgrades and encodings, whose effects cannot be recorded.
fn ask_for_what_can_be_recorded(headers: &mut HeaderMap) {
    headers.remove(UPGRADE);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// The body of the leased run: calls the inner service and decides how its response is treated.
async fn run<DB, S>(
    mut inner: S,
    options: Arc<LayerOptions<DB>>,
    request: Request<Body>,
    attempt: Attempt,
    answer: oneshot::Sender<Response>,
    _permit: Option<OwnedSemaphorePermit>,
) -> Result<Stored, Ended<S::Error>>
where
    DB: LeaseBackend,
    S: Service<Request<Body>>,
    S::Response: IntoResponse,
{
    let on_lapse = options.operation.lease_policy().on_lapse();
    let is_head = request.method() == Method::HEAD;
    let response = match inner.call(request).await {
        Ok(response) => response.into_response(),
        Err(error) => {
            // An error does not say whether the effect happened; the operation decides.
            if Keep::in_doubt(on_lapse) == Keep::Unknown {
                attempt.outcome_unknown();
            }
            return Err(Ended::Inner(error));
        }
    };
    let status = response.status();
    let keep = match options.keep {
        Some(keep) => keep(status),
        None => Keep::by_default(status, on_lapse),
    };
    match keep {
        Keep::Record => {
            let limits = options.response_limits();
            match Stored::of(response, is_head, &options.recorded, limits).await {
                Ok((stored, response)) => {
                    // The receiver may be gone.
                    let _ = answer.send(response);
                    Ok(stored)
                }
                Err(why) => {
                    // The effect has happened, so a retry must not repeat it.
                    attempt.outcome_unknown();
                    Err(Ended::Unstorable(why))
                }
            }
        }
        Keep::Release => Err(Ended::Passed(Box::new(response))),
        Keep::Unknown => {
            attempt.outcome_unknown();
            Err(Ended::Passed(Box::new(response)))
        }
    }
}

fn not_read(unread: Unread, limit: usize) -> Problem {
    let detail = match unread {
        Unread::TooLong => format!(
            "the body is longer than {limit} bytes, which is the limit for a request with an Idempotency-Key; nothing was done"
        ),
        Unread::TooLongFurtherOut => {
            "the body is longer than this service reads; nothing was done".to_owned()
        }
        Unread::Broken => return unreadable("the body broke off; nothing was done".to_owned()),
    };
    Problem::new(
        "request-too-large",
        "The request is too large",
        StatusCode::PAYLOAD_TOO_LARGE,
        detail,
    )
}

fn not_comparable(why: &str) -> Problem {
    unreadable(format!(
        "the multipart body cannot be compared with that of a retry, which has another boundary: {why}; nothing was done: write it as RFC 2046, section 5.1, says, without a Content-Encoding"
    ))
}

fn unreadable(detail: String) -> Problem {
    Problem::new(
        "request-unreadable",
        "The request could not be read",
        StatusCode::BAD_REQUEST,
        detail,
    )
}

fn not_storable(why: Unstorable) -> Problem {
    Problem::new(
        "response-not-storable",
        "The response cannot be recorded",
        StatusCode::INTERNAL_SERVER_ERROR,
        format!(
            "{}; its effect has happened and is not repeated under this key: send no other key before its outcome is settled",
            why.detail()
        ),
    )
}

fn not_shown() -> Problem {
    Problem::new(
        "replay-forbidden",
        "The recorded response is not for this request",
        StatusCode::FORBIDDEN,
        "the request with this Idempotency-Key was served before, but its response may not be shown to this request".to_owned(),
    )
}
