//! The heartbeats of all leases that are stored through one pool.
//!
//! Heartbeats do not wait for bodies that hold the pool's connections. They use a separate
//! connection, opened with the pool's options and hooks at the first heartbeat. One statement
//! extends all leases of a table that are due or nearly due, and skips records that are locked. A
//! database in memory exists only in its connections: there the pool's own are used.
//!
//! The end of a run is written through the pool or, if the pool has no connection free, through a
//! second separate connection: the outcome of a body must not stay unrecorded because the pool is
//! exhausted.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use sqlx::Pool;
use tokio::runtime::Handle;
use tokio::sync::Mutex as Turn;
use tokio::time::timeout;

use super::attempt::Attempt;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::calls::telemetry::Meter;
use crate::stores::ClaimRequest;
use crate::stores::lease::LeaseBackend;
use crate::values::error::Error;
use crate::values::policy::Lease;
use crate::values::record::AttemptId;

/// How long the end of a run waits for a connection of the pool before it also tries the separate
/// one: 50 milliseconds.
const SPARE_AFTER: Duration = Duration::from_millis(50);

/// The heartbeats of one pool, as long as it has an active run; see [the module](self).
pub(super) struct Heartbeats<DB: LeaseBackend> {
    pool: Pool<DB>,
    /// One connection for heartbeats and one for ends, so that neither waits for the other.
    spare_pool: SparePool<DB>,
    ending_pool: SparePool<DB>,
    /// Whether a further connection would open a different database (SQLite in memory).
    is_irreplaceable: bool,
    leases: Mutex<HashMap<AttemptId, ActiveLease>>,
    /// Held by the run whose statement is being sent.
    pub(super) turn: Arc<Turn<()>>,
}

/// A pool of one connection, created at its first use.
type SparePool<DB> = OnceLock<Pool<DB>>;

/// A lease that an active run holds.
#[derive(Clone)]
pub(super) struct ActiveLease {
    pub(super) claim_request: ClaimRequest<()>,
    pub(super) lease: Lease,
    pub(super) attempt: Attempt,
    pub(super) meter: Meter,
}

static KNOWN: Mutex<Vec<Weak<dyn Any + Send + Sync>>> = Mutex::new(Vec::new());

impl<DB: LeaseBackend> Heartbeats<DB> {
    /// Returns the heartbeats of this pool: the same for all its clones, as long as one of its runs
    /// is active.
    pub(super) fn of(pool: &Pool<DB>) -> Result<Arc<Self>, Error> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|one| one.strong_count() > 0);
        let found = known.iter().filter_map(Weak::upgrade);
        let mut found = found.filter_map(|one| Arc::downcast::<Self>(one).ok());
        // The options are stored in the pool itself, which is kept alive: the same address means
        // the same pool.
        if let Some(found) = found.find(|one| ptr::eq(one.pool.options(), pool.options())) {
            return Ok(found);
        }
        let new = Arc::new(Self {
            pool: pool.clone(),
            spare_pool: OnceLock::new(),
            ending_pool: OnceLock::new(),
            is_irreplaceable: DB::is_irreplaceable(&DB::pool_traits(pool)?),
            leases: Mutex::default(),
            turn: Arc::default(),
        });
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(&new) as _;
        known.push(Arc::downgrade(&any));
        Ok(new)
    }

    pub(super) fn leases(&self) -> MutexGuard<'_, HashMap<AttemptId, ActiveLease>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the pool is closed: then nothing more is written.
    pub(super) fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    fn open<'b>(&'b self, spare_pool: &'b SparePool<DB>) -> &'b Pool<DB> {
        if self.is_irreplaceable {
            return &self.pool;
        }
        spare_pool.get_or_init(|| {
            let options = self.pool.options().clone();
            let options = options.min_connections(0).max_connections(1);
            let connect = self.pool.connect_options();
            let opened = options.connect_lazy_with(Clone::clone(&*connect));
            // Closing the caller's pool also closes this one.
            let (closed, mut unused) = (self.pool.close_event(), opened.close_event());
            let ending = opened.clone();
            tokio::spawn(async move {
                if unused.do_until(closed).await.is_ok() {
                    ending.close().await;
                }
            });
            opened
        })
    }

    /// Returns a connection for heartbeats.
    pub(super) async fn connection(&self) -> Result<PooledConn<DB>, Error> {
        if self.is_closed() {
            return Err(DB::map_error(sqlx::Error::PoolClosed));
        }
        PooledConn::from(self.open(&self.spare_pool)).await
    }

    /// Returns a connection for the end of a run.
    pub(super) async fn ending(&self) -> Result<PooledConn<DB>, Error> {
        let mut own = pin!(PooledConn::from(&self.pool));
        match timeout(SPARE_AFTER, own.as_mut()).await {
            Ok(Ok(pooled)) => return Ok(pooled),
            Ok(Err(error)) if self.is_irreplaceable || self.is_closed() => return Err(error),
            Ok(Err(_)) => return PooledConn::from(self.open(&self.ending_pool)).await,
            Err(_) if self.is_irreplaceable => return own.await,
            Err(_) => {}
        }
        let mut spare = pin!(PooledConn::from(self.open(&self.ending_pool)));
        // Take the connection that is available first; if one fails, wait for the other.
        let mut failed = (false, false);
        poll_fn(|context| {
            if !failed.0
                && let Poll::Ready(pooled) = own.as_mut().poll(context)
            {
                match pooled {
                    Ok(pooled) => return Poll::Ready(Ok(pooled)),
                    Err(error) if failed.1 => return Poll::Ready(Err(error)),
                    Err(_) => failed.0 = true,
                }
            }
            if !failed.1
                && let Poll::Ready(pooled) = spare.as_mut().poll(context)
            {
                match pooled {
                    Ok(pooled) => return Poll::Ready(Ok(pooled)),
                    Err(error) if failed.0 => return Poll::Ready(Err(error)),
                    Err(_) => failed.1 = true,
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl<DB: LeaseBackend> Drop for Heartbeats<DB> {
    fn drop(&mut self) {
        for spare_pool in [&mut self.spare_pool, &mut self.ending_pool] {
            if let (Some(opened), Ok(runtime)) = (spare_pool.take(), Handle::try_current()) {
                runtime.spawn(async move { opened.close().await });
            }
        }
    }
}

impl<DB: LeaseBackend> fmt::Debug for Heartbeats<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heartbeats")
            .field("leases", &self.leases().len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pools_whose_leases_have_ended_are_not_remembered() {
        const POOLS: usize = 100;
        for _ in 0..POOLS {
            let pool = Pool::<sqlx::Sqlite>::connect_lazy("sqlite::memory:").expect("a URL");
            let one = Heartbeats::of(&pool).expect("a pool");
            let same = Heartbeats::of(&pool.clone()).expect("a pool");
            assert!(Arc::ptr_eq(&one, &same));
        }
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(known.len() < POOLS, "all {} are remembered", known.len());
    }
}
