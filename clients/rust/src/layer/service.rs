//! The service of the layer.

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Either, Full};
use tower_service::Service;

use crate::attempts::{Attempts, Next, Outcome};
use crate::error::{BoxError, ClientError};
use crate::key::{IDEMPOTENCY_KEY, Key};
use crate::policy::RetryPolicy;
use crate::selection::{KeyChoice, Selected, select};
use crate::whole;

/// The service of [`KeyLayer`](super::KeyLayer).
#[derive(Clone, Debug)]
pub struct KeyService<S> {
    inner: S,
    policy: Arc<RetryPolicy>,
}

impl<S> KeyService<S> {
    pub(super) fn new(inner: S, policy: Arc<RetryPolicy>) -> Self {
        Self { inner, policy }
    }
}

impl<S, B, R> Service<Request<B>> for KeyService<S>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + 'static,
    B: Clone + Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    /// On the left is the body of an answer that was read, on the right that of a request without a key.
    type Response = Response<Either<Full<Bytes>, R>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready, and not its clone.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        let policy = self.policy.clone();
        let selected = select(
            &policy,
            request.method(),
            request.headers(),
            request.extensions().get::<KeyChoice>(),
            None,
        );
        Box::pin(async move {
            match selected.map_err(ClientError::from)? {
                Some(selected) => {
                    let response = send(inner, &policy, selected, request).await?;
                    Ok(response.map(|body| Either::Left(Full::new(body))))
                }
                None => once(inner, without_omitted(request)).await,
            }
        })
    }
}

/// Sends a request without a key.
async fn once<S, B, R>(
    mut inner: S,
    request: Request<B>,
) -> Result<Response<Either<Full<Bytes>, R>>, BoxError>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>>,
{
    let response = inner.call(request).await.map_err(Into::into)?;
    Ok(response.map(Either::Right))
}

/// Takes a header away that the caller omits.
fn without_omitted<B>(mut request: Request<B>) -> Request<B> {
    if let Some(KeyChoice::Omit) = request.extensions().get::<KeyChoice>() {
        request.headers_mut().remove(IDEMPOTENCY_KEY);
    }
    request
}

/// Sends a request with its key until it is answered. The service is ready.
async fn send<S, B, R>(
    mut inner: S,
    policy: &RetryPolicy,
    selected: Selected,
    mut request: Request<B>,
) -> Result<Response<Bytes>, BoxError>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>>,
    B: Clone,
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let headers = request.headers_mut();
    headers.insert(IDEMPOTENCY_KEY, selected.value);
    let mut attempts = Attempts::new(policy, selected.key.clone());
    let mut is_ready = true;
    loop {
        let sent = attempt(&mut inner, is_ready, request.clone(), policy, &selected.key);
        let outcome = attempts.make(sent).await;
        match attempts.after(outcome) {
            Next::After(pause) => attempts.wait(pause).await,
            Next::Done(end) => return end.map_err(Into::into),
        }
        is_ready = false;
    }
}

async fn attempt<S, B, R>(
    inner: &mut S,
    is_ready: bool,
    request: Request<B>,
    policy: &RetryPolicy,
    key: &Key,
) -> Outcome
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>>,
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    if !is_ready && let Err(error) = poll_fn(|cx| inner.poll_ready(cx)).await {
        return Outcome::Lost(error.into());
    }
    let response = match inner.call(request).await {
        Ok(response) => response,
        Err(error) => return Outcome::Lost(error.into()),
    };
    whole::read(response, policy.answer_limit, key).await
}
