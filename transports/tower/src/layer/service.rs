//! The service of the layer: reads the request, claims the key, runs the inner service, records the response.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use idem_runtime::__transport::emit_refused;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Attempt, Error, IdempotencyKey, Replayable};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tower_service::Service;

use super::body::{BoxError, Unstorable, read, read_whole};
use super::options::{LayerOptions, OnReplay};
use super::problems::{not_comparable, not_read, not_shown, not_storable};
use super::stored::Stored;
use super::subject::{Besides, Subject};
use super::{Keep, Protocol};
use crate::body::{Buffered, MaybeBuffered};

/// The service of [`ReplayLayer`](super::ReplayLayer).
pub struct IdempotencyService<DB: LeaseBackend, S, P: Protocol> {
    inner: S,
    options: Arc<LayerOptions<DB, P>>,
}

impl<DB: LeaseBackend, S, P: Protocol> IdempotencyService<DB, S, P> {
    pub(super) fn new(inner: S, options: Arc<LayerOptions<DB, P>>) -> Self {
        Self { inner, options }
    }
}

impl<DB: LeaseBackend, S: Clone, P: Protocol> Clone for IdempotencyService<DB, S, P> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.options))
    }
}

impl<DB: LeaseBackend, S, P: Protocol> std::fmt::Debug for IdempotencyService<DB, S, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotencyService").finish_non_exhaustive()
    }
}

impl<DB, S, P, B, R> Service<Request<B>> for IdempotencyService<DB, S, P>
where
    DB: LeaseBackend,
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    P: Protocol,
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
            let (parts, body) = request.into_parts();
            if !P::protects(&options.protocol, &parts) {
                return pass(&mut ready, Request::from_parts(parts, body)).await;
            }
            match P::key(&parts, options.requires_key) {
                Ok(Some(key)) => serve(ready, options, key, parts, body).await,
                Ok(None) => pass(&mut ready, Request::from_parts(parts, body)).await,
                Err(refusal) => Ok(refused(&options, &refusal).map(Into::into)),
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
    /// The service's response, which is not to be recorded.
    Passed(Box<Response<MaybeBuffered<R>>>),
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

async fn serve<DB, S, P, B, R>(
    inner: S,
    options: Arc<LayerOptions<DB, P>>,
    key: IdempotencyKey,
    parts: Parts,
    body: B,
) -> Result<Response<MaybeBuffered<R>>, S::Error>
where
    DB: LeaseBackend,
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    P: Protocol,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let made = |response: Response<Buffered>| Ok(response.map(Into::into));
    let Some(scope) = (options.scope)(&parts) else {
        let operation = options.operation.name().into();
        let refusal = Error::ScopeMissing { operation };
        return made(refused(&options, &refusal));
    };
    let may_replay = options.may_replay.as_ref().is_none_or(|may| may(&parts));
    let body = match read(body, options.request_limit).await {
        Ok(body) => body,
        Err(unread) => {
            return made(P::problem(
                &options.protocol,
                not_read(unread, options.request_limit),
            ));
        }
    };
    let head = parts.clone();
    let besides = Besides {
        uri: P::uri(&head),
        authority: scope.is_global(),
        coding: &P::CODING,
        of_the_body: P::OF_THE_BODY,
        headers: &options.compared,
    };
    let subject = match Subject::of(&head, &body, besides) {
        Ok(subject) => subject,
        Err(why) => return made(P::problem(&options.protocol, not_comparable(why))),
    };
    let mut request = Request::from_parts(parts, Buffered::from(body).into());
    P::ask_for_what_can_be_recorded(request.headers_mut());
    let permit = match options.enter() {
        Ok(permit) => permit,
        Err(error) => return made(refused(&options, &error)),
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
        Ok(stored) if stored.replayed() && !may_replay => {
            made(P::problem(&options.protocol, not_shown()))
        }
        Ok(stored) if stored.replayed() => made(match &options.on_replay {
            Some(edit) => edited(&head, recorded::<P>(stored), &**edit),
            None => recorded::<P>(stored),
        }),
        Ok(stored) => made(first_answer(first).unwrap_or_else(|| recorded::<P>(stored))),
        Err(Ended::Passed(response)) => Ok(*response),
        Err(Ended::Refused(error)) => made(P::refusal(&options.protocol, &error)),
        Err(Ended::Unstorable(why)) => made(P::problem(&options.protocol, not_storable(why))),
        Err(Ended::Inner(error)) => Err(error),
    }
}

/// Returns the recorded response; a replay says that it is one.
fn recorded<P: Protocol>(stored: Replayable<Stored>) -> Response<Buffered> {
    let replayed = stored.replayed();
    let mut response = stored.into_inner().into_response();
    if replayed {
        P::mark_replayed(&mut response);
    }
    response
}

/// Returns a refusal before the call begins, and emits its event.
fn refused<DB: LeaseBackend, P: Protocol>(
    options: &LayerOptions<DB, P>,
    refusal: &Error,
) -> Response<Buffered> {
    emit_refused(options.operation, refusal);
    P::refusal(&options.protocol, refusal)
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

/// The body of the leased run: calls the inner service and decides how its response is treated.
async fn run<DB, S, P, B, R>(
    mut inner: S,
    options: Arc<LayerOptions<DB, P>>,
    request: Request<MaybeBuffered<B>>,
    attempt: Attempt,
    answer: oneshot::Sender<Response<Buffered>>,
    _permit: Option<OwnedSemaphorePermit>,
) -> Result<Stored, Ended<S::Error, R>>
where
    DB: LeaseBackend,
    S: Service<Request<MaybeBuffered<B>>, Response = Response<R>>,
    P: Protocol,
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
    let (parts, body) = response.into_parts();
    let passed = |keep: Keep, response: Response<MaybeBuffered<R>>| {
        if keep == Keep::Unknown {
            attempt.outcome_unknown();
        }
        Err(Ended::Passed(Box::new(response)))
    };
    let unstorable = |why| {
        // The effect has happened, so a retry must not repeat it.
        attempt.outcome_unknown();
        Ended::Unstorable(why)
    };
    let by_head = P::judge(&options.protocol, &parts, on_lapse);
    if let Some(keep @ (Keep::Release | Keep::Unknown)) = by_head {
        return passed(
            keep,
            Response::from_parts(parts, MaybeBuffered::passed(body)),
        );
    }
    let whole = read_whole(&parts, body, &P::CODING, is_head, options.response_limits()).await;
    let whole = whole.map_err(unstorable)?;
    let keep = by_head.unwrap_or_else(|| {
        P::judge_at_end(&options.protocol, &parts, whole.trailers.as_ref(), on_lapse)
    });
    if keep != Keep::Record {
        return passed(keep, Response::from_parts(parts, whole.into_body().into()));
    }
    let stored = Stored::of(&parts, &whole, is_head, &options.recorded).map_err(unstorable)?;
    // The receiver may be gone.
    let _ = answer.send(Response::from_parts(parts, whole.into_body()));
    Ok(stored)
}
