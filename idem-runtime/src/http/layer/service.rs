//! The service: read, claim, serve, record.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use http::{Request, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tower_service::Service;

use super::super::header;
use super::super::policy::HttpPolicy;
use super::super::problem::Problem;
use super::body::{Unread, Unstorable, read};
use super::stored::Stored;
use super::subject::Subject;
use super::{Keep, Rules, Runs};
use crate::error::Error;
use crate::lease::{Attempt, too_many};
use crate::policy::OnLapse;
use crate::store::LeaseBackend;

/// The service that [`IdempotencyLayer`](super::IdempotencyLayer) makes.
pub struct IdempotencyService<DB: LeaseBackend, S> {
    inner: S,
    rules: Arc<Rules<DB>>,
}

impl<DB: LeaseBackend, S> IdempotencyService<DB, S> {
    pub(super) fn new(inner: S, rules: Arc<Rules<DB>>) -> Self {
        Self { inner, rules }
    }
}

impl<DB: LeaseBackend, S: Clone> Clone for IdempotencyService<DB, S> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.rules))
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
    S: Service<Request<Body>, Response = Response> + Clone + Send + 'static,
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
        // The one that was asked whether it is ready serves; its clone was not.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        Box::pin(serve(ready, Arc::clone(&self.rules), request))
    }
}

/// How a run ends without a recorded response.
enum Ended<E> {
    Refused(Error),
    /// The service's own response, which is not recorded.
    Passed(Box<Response>),
    /// The service's response, which ought to be recorded and cannot be.
    Unstorable(Unstorable),
    /// The service's own error.
    Inner(E),
}

impl<E> From<Error> for Ended<E> {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

async fn serve<DB, S>(
    mut inner: S,
    rules: Arc<Rules<DB>>,
    request: Request<Body>,
) -> Result<Response, S::Error>
where
    DB: LeaseBackend,
    S: Service<Request<Body>, Response = Response> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
{
    if !rules.methods.contains(request.method()) {
        return inner.call(request).await;
    }
    let (parts, body) = request.into_parts();
    let syntax = HttpPolicy::of(&parts.extensions).key_syntax();
    let key = match header::key(&parts.headers, syntax) {
        Ok(Some(key)) => key,
        Ok(None) if !rules.requires_key => {
            return inner.call(Request::from_parts(parts, body)).await;
        }
        Ok(None) => {
            let operation = format!("{} {}", parts.method, parts.uri.path()).into();
            return Ok(Error::KeyMissing { operation }.into_response());
        }
        Err(invalid) => return Ok(Error::from(invalid).into_response()),
    };
    let Some(scope) = (rules.scope)(&parts) else {
        let operation = rules.operation.name().into();
        return Ok(Error::ScopeMissing { operation }.into_response());
    };
    let may_replay = rules.may_replay.as_ref().is_none_or(|ask| ask(&parts));
    let body = match read(body, rules.request_limit).await {
        Ok(body) => body,
        Err(unread) => return Ok(not_read(unread, rules.request_limit).into_response()),
    };
    let head = parts.clone();
    let subject = Subject::of(&head, &body);
    let request = Request::from_parts(parts, Body::from(body));
    let permit = match rules.enter() {
        Ok(permit) => permit,
        Err(error) => return Ok(error.into_response()),
    };
    let run_rules = Arc::clone(&rules);
    let ran = rules
        .operation
        .run_leased(&rules.pool, &key.scoped(scope), &subject, move |attempt| {
            run(inner, run_rules, request, attempt, permit)
        })
        .await;
    match ran {
        Ok(stored) if stored.replayed() && !may_replay => Ok(not_shown().into_response()),
        Ok(stored) => Ok(stored.into_response()),
        Err(Ended::Passed(response)) => Ok(*response),
        Err(Ended::Refused(error)) => Ok(error.into_response()),
        Err(Ended::Unstorable(why)) => Ok(not_storable(why).into_response()),
        Err(Ended::Inner(error)) => Err(error),
    }
}

impl<DB: LeaseBackend> Rules<DB> {
    /// The right to one more run, where there is a limit.
    fn enter(&self) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(Runs { limit, free }) = &self.runs else {
            return Ok(None);
        };
        let permit = Arc::clone(free).try_acquire_owned();
        permit.map(Some).map_err(|_| too_many(*limit))
    }
}

/// The body of the leased run: the inner service, and what becomes of its response.
async fn run<DB, S>(
    mut inner: S,
    rules: Arc<Rules<DB>>,
    request: Request<Body>,
    attempt: Attempt,
    _permit: Option<OwnedSemaphorePermit>,
) -> Result<Stored, Ended<S::Error>>
where
    DB: LeaseBackend,
    S: Service<Request<Body>, Response = Response>,
{
    // Nobody runs here without a lease.
    let lease = rules.operation.policy().lease;
    let on_lapse = lease.map_or(OnLapse::Unknown, |lease| lease.on_lapse());
    let response = match inner.call(request).await {
        Ok(response) => response,
        Err(error) => {
            // It does not say what it did, and the operation says what that means.
            if Keep::in_doubt(on_lapse) == Keep::Unknown {
                attempt.outcome_unknown();
            }
            return Err(Ended::Inner(error));
        }
    };
    let status = response.status();
    let keep = match rules.keep {
        Some(keep) => keep(status),
        None => Keep::by_default(status, on_lapse),
    };
    match keep {
        Keep::Record => Stored::of(response, &rules.headers, rules.response_limit)
            .await
            .map_err(|why| {
                // The effect has happened, and a retry must not repeat it.
                attempt.outcome_unknown();
                Ended::Unstorable(why)
            }),
        Keep::Release => Err(Ended::Passed(Box::new(response))),
        Keep::Unknown => {
            attempt.outcome_unknown();
            Err(Ended::Passed(Box::new(response)))
        }
    }
}

fn not_read(unread: Unread, limit: usize) -> Problem {
    match unread {
        Unread::TooLong => Problem::new(
            "request-too-large",
            "The request is too large",
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the body is longer than {limit} bytes, which is the limit for a request with an Idempotency-Key"
            ),
        ),
        Unread::Broken => Problem::new(
            "request-unreadable",
            "The request could not be read",
            StatusCode::BAD_REQUEST,
            "the body broke off; nothing was done".to_owned(),
        ),
    }
}

fn not_storable(why: Unstorable) -> Problem {
    Problem::new(
        "response-not-storable",
        "The response cannot be recorded",
        StatusCode::INTERNAL_SERVER_ERROR,
        why.detail().to_owned(),
    )
}

fn not_shown() -> Problem {
    Problem::new(
        "replay-forbidden",
        "The recorded response is not for this request",
        StatusCode::FORBIDDEN,
        "the request with this Idempotency-Key was served before, and may no longer be shown its response".to_owned(),
    )
}
