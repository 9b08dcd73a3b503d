//! Runs calls to their end, even if the client disconnects.

use std::fmt;
use std::mem;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;
use tracing::Instrument as _;

/// Runs calls in separate tasks, so that a call that has begun completes even if its caller no longer
/// waits: the client disconnected, a gateway or an outer time-out layer gave up. A retry with the same
/// key then gets the result.
///
/// Without it, a server on hyper drops a handler if its client disconnects, and its transaction is rolled
/// back. That is safe, but if a handler takes longer than a gateway waits, no retry ever succeeds; see the
/// page `docs/gateways.md`.
///
/// As a layer it detaches the whole inner service, including the reading of the request:
///
/// ```
/// use http::{Request, Response};
/// use idem_tower::Detached;
/// use tower::{ServiceBuilder, service_fn};
///
/// # async fn serve<S>(service: S) {}
/// # async fn example() {
/// let detached = Detached::new(64);
/// let orders = service_fn(async |_: Request<String>| Ok::<_, std::io::Error>(Response::new("placed")));
/// serve(ServiceBuilder::new().layer(detached.clone()).service(orders)).await; // until it shuts down
/// detached.drain().await; // nobody waits for these calls any more
/// # }
/// ```
///
/// [`run`](Self::run) does the same for one call inside a handler.
///
/// The call keeps the tracing span of the caller, but not its task-locals: it cannot read those that an
/// outer layer sets.
#[derive(Clone)]
pub struct Detached {
    permits: Arc<Semaphore>,
    limit: u32,
}

impl Detached {
    /// Creates a layer that runs at most `limit` calls at a time, whether or not a caller still waits for
    /// them. Other calls wait until one has ended; they are dropped if their caller disconnects before that.
    ///
    /// # Panics
    /// Panics if `limit` is zero.
    pub fn new(limit: u32) -> Self {
        assert!(limit > 0, "a limit of zero would let no call run");
        Self {
            permits: Arc::new(Semaphore::new(limit as usize)),
            limit,
        }
    }

    /// Runs `call` to its end and returns its output. If the returned future is dropped, the call
    /// continues.
    ///
    /// ```
    /// # async fn place_order(order: u32) -> u32 { order }
    /// # async fn example(detached: idem_tower::Detached, order: u32) {
    /// let placed = detached.run(async move { place_order(order).await }).await;
    /// # let _ = placed; }
    /// ```
    ///
    /// # Panics
    /// Panics if `call` panics.
    pub async fn run<F>(&self, call: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            unreachable!("the semaphore is never closed");
        };
        let running = async move {
            let output = call.await;
            drop(permit);
            output
        };
        match tokio::spawn(running.in_current_span()).await {
            Ok(output) => output,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime shuts down and ends this task as well.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Waits until no call is running. Calls that arrive meanwhile begin afterwards.
    ///
    /// For a graceful shutdown: stop accepting requests, await this with a time limit, then shut the
    /// runtime down. A call that is cut off by this is rolled back.
    pub async fn drain(&self) {
        // An error would mean that the semaphore was closed.
        let _ = self.permits.acquire_many(self.limit).await;
    }
}

impl fmt::Debug for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detached")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for Detached {
    type Service = DetachedService<S>;

    fn layer(&self, inner: S) -> DetachedService<S> {
        DetachedService {
            inner,
            detached: self.clone(),
        }
    }
}

/// The service of [`Detached`].
#[derive(Debug, Clone)]
pub struct DetachedService<S> {
    inner: S,
    detached: Detached,
}

impl<S, R> Service<R> for DetachedService<S>
where
    S: Service<R> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = DetachedFuture<S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        // Call the instance that `poll_ready` was called on; its clone is not ready.
        let clone = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, clone);
        let detached = self.detached.clone();
        DetachedFuture(Box::pin(async move {
            let call = async move { ready.call(request).await };
            detached.run(call).await
        }))
    }
}

/// The future of [`DetachedService`].
pub struct DetachedFuture<T, E>(Pin<Box<dyn Future<Output = Result<T, E>> + Send>>);

impl<T, E> Future for DetachedFuture<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<T, E> fmt::Debug for DetachedFuture<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedFuture").finish_non_exhaustive()
    }
}
