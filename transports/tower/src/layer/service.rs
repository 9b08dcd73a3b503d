//! The service of the layer: reads the request, claims the key, runs the inner service, records the response.

use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use idem_runtime::__transport::emit_refused;
use idem_runtime::http::Problem;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Attempt, Error, IdempotencyKey, LeasedOperation, Replayable};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tower_service::Service;

use super::body::{BoxError, Unread, Unstorable, read};
use super::options::{LayerOptions, OnReplay};
use super::stored::Stored;
use super::subject::{Besides, Subject};
use super::{Keep, WholeUri};
use crate::body::{Buffered, MaybeBuffered};
use crate::header;
use crate::response::{ToResponse as _, replayable};

/// The service of [`ReplayLayer`](super::ReplayLayer).
pub struct IdempotencyService<DB: LeaseBackend, S, U> {
    inner: S,
    options: Arc<LayerOptions<DB>>,
    whole_uri: PhantomData<fn() -> U>,
}

impl<DB: LeaseBackend, S, U> IdempotencyService<DB, S, U> {
    pub(super) fn new(inner: S, options: Arc<LayerOptions<DB>>) -> Self {
        Self {
            inner,
            options,
            whole_uri: PhantomData,
        }
    }
}

impl<DB: LeaseBackend, S: Clone, U> Clone for IdempotencyService<DB, S, U> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.options))
    }
}

impl<DB: LeaseBackend, S, U> std::fmt::Debug for IdempotencyService<DB, S, U> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotencyService").finish_non_exhaustive()
    }
}

impl<DB, S, U, B, R> Service<Request<B>> for IdempotencyService<DB, S, U>
where
    DB: LeaseBackend,
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    U: WholeUri,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<MaybeBuffered<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Call the instance that `poll_ready` was called on; its clone is not ready.
        let clone = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, clone);
        let options = Arc::clone(&self.options);
        Box::pin(async move {
            if !options.protects(request.method()) {
                return pass(&mut ready, request).await;
            }
            let (parts, body) = request.into_parts();
            let key = {
                let keyed = header::keyed(&parts, None);
                if options.requires_key {
                    keyed.key().map(Some)
                } else {
                    keyed.optional_key()
                }
            };
            match key {
                Ok(Some(key)) => serve::<_, _, U, _, _>(ready, options, key, parts, body).await,
                Ok(None) => pass(&mut ready, Request::from_parts(parts, body)).await,
                Err(refusal) => Ok(refused(options.operation, &refusal).map(Into::into)),
            }
        })
    }
}

/// Calls the inner service without a key.
async fn pass<S, B, R>(
    inner: &mut S,
    request: Request<B>,
) -> Result<Response<MaybeBuffered<R>>, S::Error>
where
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>>,
{
    let response = inner.call(request.map(MaybeBuffered::passed)).await?;
    Ok(response.map(MaybeBuffered::passed))
}

/// How a run ends without a recorded response.
enum Ended<E, R> {
    Refused(Error),
    /// The service's response, which is not recorded by its status.
    Passed(Box<Response<R>>),
    /// The service's response, which should be recorded but cannot be.
    Unstorable(Unstorable),
    /// The service's error.
    Inner(E),
}

impl<E, R> From<Error> for Ended<E, R> {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

async fn serve<DB, S, U, B, R>(
    inner: S,
    options: Arc<LayerOptions<DB>>,
    key: IdempotencyKey,
    parts: Parts,
    body: B,
) -> Result<Response<MaybeBuffered<R>>, S::Error>
where
    DB: LeaseBackend,
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    U: WholeUri,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let made = |response: Response<Buffered>| Ok(response.map(Into::into));
    let Some(scope) = (options.scope)(&parts) else {
        let operation = options.operation.name().into();
        let refusal = Error::ScopeMissing { operation };
        return made(refused(options.operation, &refusal));
    };
    let may_replay = options.may_replay.as_ref().is_none_or(|may| may(&parts));
    let body = match read(body, options.request_limit).await {
        Ok(body) => body,
        Err(unread) => return made(not_read(unread, options.request_limit).to_response()),
    };
    let head = parts.clone();
    let besides = Besides {
        uri: U::whole_uri(&head),
        authority: scope.is_global(),
        headers: &options.compared,
    };
    let subject = match Subject::of(&head, &body, besides) {
        Ok(subject) => subject,
        Err(why) => return made(not_comparable(why).to_response()),
    };
    let mut request = Request::from_parts(parts, Buffered::from(body).into());
    ask_for_what_can_be_recorded(request.headers_mut());
    let permit = match options.enter() {
        Ok(permit) => permit,
        Err(error) => return made(refused(options.operation, &error)),
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
    match ran {
        Ok(stored) if stored.replayed() && !may_replay => made(not_shown().to_response()),
        Ok(stored) if stored.replayed() => made(match &options.on_replay {
            Some(edit) => edited(&head, recorded(stored), &**edit),
            None => recorded(stored),
        }),
        Ok(stored) => made(first_answer(first).unwrap_or_else(|| recorded(stored))),
        Err(Ended::Passed(response)) => Ok(response.map(MaybeBuffered::passed)),
        Err(Ended::Refused(error)) => made(error.to_response()),
        Err(Ended::Unstorable(why)) => made(not_storable(why).to_response()),
        Err(Ended::Inner(error)) => Err(error),
    }
}

/// Returns the recorded response; a replay says that it is one.
fn recorded(stored: Replayable<Stored>) -> Response<Buffered> {
    replayable(stored.map(Stored::into_response))
}

/// Returns a refusal before the call begins, and emits its event.
fn refused(operation: LeasedOperation, refusal: &Error) -> Response<Buffered> {
    emit_refused(operation, refusal);
    refusal.to_response()
}

/// Lets the user's function edit a replay. Its length is that of the edited body, which the server finds out.
fn edited(head: &Parts, mut replay: Response<Buffered>, edit: &OnReplay) -> Response<Buffered> {
    if head.method != Method::HEAD {
        replay.headers_mut().remove(CONTENT_LENGTH);
    }
    edit(head, replay)
}

/// The inner service's response. A record holds less: no headers of the moment, no extensions.
fn first_answer(mut first: oneshot::Receiver<Response<Buffered>>) -> Option<Response<Buffered>> {
    first.try_recv().ok()
}

/// Removes the request's headers about upgrades and encodings, whose effects cannot be recorded.
fn ask_for_what_can_be_recorded(headers: &mut HeaderMap) {
    headers.remove(UPGRADE);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// The body of the leased run: calls the inner service and decides how its response is treated.
async fn run<DB, S, B, R>(
    mut inner: S,
    options: Arc<LayerOptions<DB>>,
    request: Request<MaybeBuffered<B>>,
    attempt: Attempt,
    answer: oneshot::Sender<Response<Buffered>>,
    _permit: Option<OwnedSemaphorePermit>,
) -> Result<Stored, Ended<S::Error, R>>
where
    DB: LeaseBackend,
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>>,
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let on_lapse = options.operation.lease_policy().on_lapse();
    let is_head = request.method() == Method::HEAD;
    let response = match inner.call(request).await {
        Ok(response) => response,
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
