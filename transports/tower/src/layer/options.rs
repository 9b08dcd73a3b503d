//! The options of a layer, shared by its services.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, Method, Response, StatusCode};
use idem_runtime::policy::DEFAULT_RETRY_AFTER;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Error, LeasedOperation, Scope};
use sqlx::Pool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::ResponseLimits;
use super::recorded::RecordedHeaders;
use super::{DEFAULT_BODY_LIMIT, DEFAULT_RESPONSE_TIMEOUT, Keep};
use crate::body::Buffered;

pub(super) type ScopeOf = dyn Fn(&Parts) -> Option<Scope> + Send + Sync;
pub(super) type MayReplay = dyn Fn(&Parts) -> bool + Send + Sync;
pub(super) type OnReplay = dyn Fn(&Parts, Response<Buffered>) -> Response<Buffered> + Send + Sync;

pub(super) struct LayerOptions<DB: LeaseBackend> {
    pub(super) pool: Pool<DB>,
    pub(super) operation: LeasedOperation,
    pub(super) scope: Arc<ScopeOf>,
    pub(super) may_replay: Option<Arc<MayReplay>>,
    pub(super) on_replay: Option<Arc<OnReplay>>,
    pub(super) methods: HashSet<Method>,
    pub(super) requires_key: bool,
    /// Request headers that are compared in addition.
    pub(super) compared: HashSet<HeaderName>,
    pub(super) recorded: RecordedHeaders,
    /// The user's function, which replaces the default.
    pub(super) keep: Option<fn(StatusCode) -> Keep>,
    pub(super) request_limit: usize,
    pub(super) response_limit: usize,
    pub(super) response_timeout: Duration,
    pub(super) runs: Option<Runs>,
}

/// The maximum of concurrent runs of the inner service.
#[derive(Clone)]
pub(super) struct Runs {
    limit: usize,
    free: Arc<Semaphore>,
}

impl Runs {
    pub(super) fn at_most(limit: usize) -> Self {
        let free = Semaphore::new(limit.min(Semaphore::MAX_PERMITS));
        Self {
            limit,
            free: Arc::new(free),
        }
    }
}

impl<DB: LeaseBackend> LayerOptions<DB> {
    pub(super) fn new(pool: Pool<DB>, operation: LeasedOperation, scope: Arc<ScopeOf>) -> Self {
        Self {
            pool,
            // The layer's own limit is that of a response's body, before it is encoded.
            operation: operation.result_limit(usize::MAX),
            scope,
            may_replay: None,
            on_replay: None,
            methods: HashSet::from([Method::POST, Method::PATCH]),
            requires_key: true,
            compared: HashSet::new(),
            recorded: RecordedHeaders::default(),
            keep: None,
            request_limit: DEFAULT_BODY_LIMIT,
            response_limit: DEFAULT_BODY_LIMIT,
            response_timeout: DEFAULT_RESPONSE_TIMEOUT,
            runs: None,
        }
    }

    /// Returns whether the method requires a key. A router serves `HEAD` by the handler of `GET`.
    pub(super) fn protects(&self, method: &Method) -> bool {
        self.methods.contains(method)
            || (*method == Method::HEAD && self.methods.contains(&Method::GET))
    }

    /// Returns a permit for one more run if there is a limit.
    pub(super) fn enter(&self) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(Runs { limit, free }) = &self.runs else {
            return Ok(None);
        };
        let permit = Arc::clone(free).try_acquire_owned();
        permit.map(Some).map_err(|_| Error::TooManyRuns {
            limit: *limit,
            retry_after: DEFAULT_RETRY_AFTER,
        })
    }

    pub(super) fn response_limits(&self) -> ResponseLimits {
        ResponseLimits {
            length: self.response_limit,
            time: self.response_timeout,
        }
    }
}

// A derived implementation would require `Clone` of the database.
impl<DB: LeaseBackend> Clone for LayerOptions<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            operation: self.operation,
            scope: Arc::clone(&self.scope),
            may_replay: self.may_replay.clone(),
            on_replay: self.on_replay.clone(),
            methods: self.methods.clone(),
            requires_key: self.requires_key,
            compared: self.compared.clone(),
            recorded: self.recorded.clone(),
            keep: self.keep,
            request_limit: self.request_limit,
            response_limit: self.response_limit,
            response_timeout: self.response_timeout,
            runs: self.runs.clone(),
        }
    }
}
