//! The service of the layer: passes a request on, or answers it under its key.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use idem_runtime::store::LeaseBackend;
use tower_service::Service;

use super::Protocol;
use super::body::BoxError;
use super::flow::{key_of, serve};
use super::options::LayerOptions;
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
            match key_of(&options, &parts) {
                Ok(Some(key)) => {
                    let inner = move |request: Request<Buffered>| async move {
                        ready.call(request.map(MaybeBuffered::from)).await
                    };
                    serve(options, key, parts, body, inner).await
                }
                Ok(None) => {
                    let request = Request::from_parts(parts, body);
                    let response = ready.call(request.map(MaybeBuffered::passed)).await?;
                    Ok(response.map(MaybeBuffered::passed))
                }
                Err(refusal) => Ok(refusal.map(Into::into)),
            }
        })
    }
}
