//! The operations that a worker handles, behind one type.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;
use sqlx::Pool;

use super::inspect::Resumable;
use super::operation::{RetryBounds, Takeover};
use crate::calls::kit::contract::Contract;
use crate::calls::lease::Attempt;
use crate::calls::lease::flow::{leased, run};
use crate::calls::lease::request::{LeasedRequest, TakesOver};
use crate::stores::LeaseBackend;
use crate::values::error::Error;
use crate::values::payload::decode_request;
use crate::values::spec::OperationSpec;

/// One operation of a worker.
pub(super) trait Handled<DB: LeaseBackend>: Send + Sync {
    fn operation(&self) -> &OperationSpec;

    fn retry(&self) -> RetryBounds;

    /// Returns the run that takes a lapsed lease over, or `None` if decoding the request panics.
    ///
    /// # Errors
    /// [`Error::IncompatibleState`] if the request does not decode; that of the operation's codec.
    fn resume(&self, pool: &Pool<DB>, resumable: Resumable) -> Result<Option<Run>, Error>;
}

/// A run that has not begun.
pub(super) type Run = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Completed,
    Failed,
    /// The body did not run.
    Overtaken,
}

/// An operation with its body.
pub(super) struct HandledBody<M, Req, T, E, F> {
    takeover: Takeover<M>,
    spec: OperationSpec,
    contract: Contract<T, E>,
    body: Arc<F>,
    request: PhantomData<fn() -> Req>,
}

impl<M, Req, T, E, F> HandledBody<M, Req, T, E, F> {
    pub(super) fn new(takeover: Takeover<M>, contract: Contract<T, E>, body: F) -> Self {
        Self {
            spec: takeover.operation.into(),
            takeover,
            contract,
            body: Arc::new(body),
            request: PhantomData,
        }
    }
}

impl<DB, M, Req, T, E, F, Fut> Handled<DB> for HandledBody<M, Req, T, E, F>
where
    DB: LeaseBackend,
    Req: DeserializeOwned + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
    F: Fn(Attempt, Req) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
{
    fn operation(&self) -> &OperationSpec {
        &self.spec
    }

    fn retry(&self) -> RetryBounds {
        self.takeover.retry()
    }

    fn resume(&self, pool: &Pool<DB>, resumable: Resumable) -> Result<Option<Run>, Error> {
        let name = self.spec.name();
        // Decoding runs the request's own `Deserialize`, which may panic: at each sweep, if the panic ended the worker.
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            decode_request::<Req>(name, &resumable.request)
        }));
        let Ok(decoded) = decoded else {
            return Ok(None);
        };
        let request = decoded?;
        let takes_over = TakesOver {
            lapsed: resumable.lapsed,
            attempts: self.retry_attempts(),
        };
        let Resumable {
            identity,
            request: canonical,
            ..
        } = resumable;
        let call =
            LeasedRequest::resumed(self.takeover.operation, identity, canonical, takes_over)?;
        let (call, attempt_receiver) = leased(pool, call, self.contract);
        let has_begun = Arc::new(AtomicBool::new(false));
        let (begun, body) = (Arc::clone(&has_begun), Arc::clone(&self.body));
        let run = run(call, async move {
            let attempt = attempt_receiver.attempt().await;
            begun.store(true, Ordering::Relaxed);
            Box::pin(body(attempt, request)).await
        });
        Ok(Some(Box::pin(async move {
            let ended = run.await;
            match ended {
                _ if !has_begun.load(Ordering::Relaxed) => Ended::Overtaken,
                Ok(_) => Ended::Completed,
                Err(_) => Ended::Failed,
            }
        })))
    }
}

impl<M, Req, T, E, F> HandledBody<M, Req, T, E, F> {
    fn retry_attempts(&self) -> i32 {
        self.takeover.retry().attempts
    }
}
