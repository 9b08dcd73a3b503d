//! The options of a layer, shared by its services.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, Response};
use idem_runtime::policy::DEFAULT_RETRY_AFTER;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{Error, LeasedOperation, Scope};
use sqlx::Pool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::ResponseLimits;
use super::recorded::RecordedHeaders;
use super::{DEFAULT_BODY_LIMIT, DEFAULT_RESPONSE_TIMEOUT, Protocol};
use crate::body::Buffered;

pub(super) type ScopeOf = dyn Fn(&Parts) -> Option<Scope> + Send + Sync;
pub(super) type MayReplay = dyn Fn(&Parts) -> bool + Send + Sync;
pub(super) type OnReplay = dyn Fn(&Parts, Response<Buffered>) -> Response<Buffered> + Send + Sync;

pub(super) struct LayerOptions<DB: LeaseBackend, P: Protocol> {
    pub(super) pool: Pool<DB>,
    pub(super) operation: LeasedOperation,
    pub(super) scope: Arc<ScopeOf>,
    pub(super) may_replay: Option<Arc<MayReplay>>,
    pub(super) on_replay: Option<Arc<OnReplay>>,
    pub(super) requires_key: bool,
    /// Request headers that are compared in addition.
    pub(super) compared: HashSet<HeaderName>,
    pub(super) recorded: RecordedHeaders,
    pub(super) protocol: P::Options,
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

impl<DB: LeaseBackend, P: Protocol> LayerOptions<DB, P> {
    pub(super) fn new(pool: Pool<DB>, operation: LeasedOperation, scope: Arc<ScopeOf>) -> Self {
        Self {
            pool,
            // The layer's own limit is that of a response's body, before it is encoded.
            operation: operation.result_limit(usize::MAX),
            scope,
            may_replay: None,
            on_replay: None,
            requires_key: true,
            compared: HashSet::new(),
            recorded: RecordedHeaders::default(),
            protocol: P::Options::default(),
            request_limit: DEFAULT_BODY_LIMIT,
            response_limit: DEFAULT_BODY_LIMIT,
            response_timeout: DEFAULT_RESPONSE_TIMEOUT,
            runs: None,
        }
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

// A derived implementation would require `Clone` of the database and of the protocol.
impl<DB: LeaseBackend, P: Protocol> Clone for LayerOptions<DB, P> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            operation: self.operation,
            scope: Arc::clone(&self.scope),
            may_replay: self.may_replay.clone(),
            on_replay: self.on_replay.clone(),
            requires_key: self.requires_key,
            compared: self.compared.clone(),
            recorded: self.recorded.clone(),
            protocol: self.protocol.clone(),
            request_limit: self.request_limit,
            response_limit: self.response_limit,
            response_timeout: self.response_timeout,
            runs: self.runs.clone(),
        }
    }
}
