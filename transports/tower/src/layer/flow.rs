//! One request under its key: reads it, claims the key, runs the inner service, records the response.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use idem_runtime::__transport::emit_refused;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Attempt, Error, IdempotencyKey, Replayable};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::body::{BoxError, Unstorable, read, read_whole};
use super::options::{LayerOptions, OnReplay};
use super::problems::{not_comparable, not_read, not_shown, not_storable};
use super::stored::Stored;
use super::subject::{Besides, Subject};
use super::{Keep, Protocol};
use crate::body::{Buffered, MaybeBuffered};

/// Returns the key under which a request is answered, or `None` if it passes. `Err` is the refusal of a request whose key is
/// missing or not acceptable.
pub(super) fn key_of<DB: LeaseBackend, P: Protocol>(
    options: &LayerOptions<DB, P>,
    parts: &Parts,
) -> Result<Option<IdempotencyKey>, Box<Response<Buffered>>> {
    if !P::protects(&options.protocol, parts) {
        return Ok(None);
    }
    let key = P::key(parts, options.requires_key);
    key.map_err(|refusal| refused(options, &refusal).into())
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

/// Answers a request under its key. `inner` is called in a task of its own, or not at all.
pub(super) async fn serve<DB, P, B, F, R, E>(
    options: Arc<LayerOptions<DB, P>>,
    key: IdempotencyKey,
    parts: Parts,
    body: B,
    inner: impl FnOnce(Request<Buffered>) -> F + Send + 'static,
) -> Result<Response<MaybeBuffered<R>>, E>
where
    DB: LeaseBackend,
    P: Protocol,
    B: Body<Data = Bytes, Error: Into<BoxError>>,
    F: Future<Output = Result<Response<R>, E>> + Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    E: Send + 'static,
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
    let mut request = Request::from_parts(parts, Buffered::from(body));
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
async fn run<DB, P, F, R, E>(
    inner: impl FnOnce(Request<Buffered>) -> F,
    options: Arc<LayerOptions<DB, P>>,
    mut request: Request<Buffered>,
    attempt: Attempt,
    answer: oneshot::Sender<Response<Buffered>>,
    _permit: Option<OwnedSemaphorePermit>,
) -> Result<Stored, Ended<E, R>>
where
    DB: LeaseBackend,
    P: Protocol,
    F: Future<Output = Result<Response<R>, E>>,
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let on_lapse = options.operation.lease_policy().on_lapse();
    let is_head = request.method() == Method::HEAD;
    // The service gives its provider the attempt's key.
    request.extensions_mut().insert(attempt.clone());
    let response = match inner(request).await {
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
