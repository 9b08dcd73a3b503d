//! The heartbeats of all leases that are kept in one pool's database.
//!
//! They do not wait behind the bodies that hold the pool's connections: they have a connection of their
//! own, opened by the pool's own options and hooks, at the first heartbeat. One statement extends all
//! leases of a table that are due, or nearly so, and passes over a record that somebody has locked. A
//! database in memory ends with its connections and has no other: there the pool's own are used.
//!
//! The end of a run is written through the pool, and through a second connection of the same kind where
//! the pool has none free: what a body has done must not stay unrecorded for want of one.

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
use crate::engine::lent::Lent;
use crate::error::Error;
use crate::policy::Lease;
use crate::record::AttemptId;
use crate::store::Ask;
use crate::store::lease::LeaseBackend;

/// How long a run that ends waits for a connection of the pool before it takes the spare one as well:
/// 50 milliseconds.
const PATIENCE: Duration = Duration::from_millis(50);

/// See [the module](self). One for each pool that has a run under way.
pub(super) struct Heartbeats<DB: LeaseBackend> {
    pool: Pool<DB>,
    /// One connection for heartbeats, and one for ends, so that neither waits for the other.
    beside: Beside<DB>,
    for_ends: Beside<DB>,
    /// Whether another connection would be another database.
    is_irreplaceable: bool,
    leases: Mutex<HashMap<AttemptId, Held>>,
    /// Whose statement is under way.
    pub(super) turn: Arc<Turn<()>>,
}

/// A pool of one connection, made when it is first wanted.
type Beside<DB> = OnceLock<Pool<DB>>;

/// A lease that is held.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) ask: Ask,
    pub(super) lease: Lease,
    pub(super) attempt: Attempt,
}

static KNOWN: Mutex<Vec<Weak<dyn Any + Send + Sync>>> = Mutex::new(Vec::new());

impl<DB: LeaseBackend> Heartbeats<DB> {
    /// Those of this pool: the same for all its clones, as long as one of its runs is under way.
    pub(super) fn of(pool: &Pool<DB>) -> Result<Arc<Self>, Error> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|one| one.strong_count() > 0);
        let found = known.iter().filter_map(Weak::upgrade);
        let mut found = found.filter_map(|one| Arc::downcast::<Self>(one).ok());
        // The options are a part of the pool itself, which is kept: no other pool's are there.
        if let Some(found) = found.find(|one| ptr::eq(one.pool.options(), pool.options())) {
            return Ok(found);
        }
        let new = Arc::new(Self {
            pool: pool.clone(),
            beside: OnceLock::new(),
            for_ends: OnceLock::new(),
            is_irreplaceable: DB::home(pool)?.ends_with_connections,
            leases: Mutex::default(),
            turn: Arc::default(),
        });
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(&new) as _;
        known.push(Arc::downgrade(&any));
        Ok(new)
    }

    pub(super) fn leases(&self) -> MutexGuard<'_, HashMap<AttemptId, Held>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the pool is closed: nothing is written from then on.
    pub(super) fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    fn open<'b>(&'b self, beside: &'b Beside<DB>) -> &'b Pool<DB> {
        if self.is_irreplaceable {
            return &self.pool;
        }
        beside.get_or_init(|| {
            let options = self.pool.options().clone();
            let options = options.min_connections(0).max_connections(1);
            let connect = self.pool.connect_options();
            let opened = options.connect_lazy_with(Clone::clone(&*connect));
            // Whoever closes the pool means all that was opened for it.
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

    /// A connection for heartbeats.
    pub(super) async fn connection(&self) -> Result<Lent<DB>, Error> {
        if self.is_closed() {
            return Err(DB::fold(sqlx::Error::PoolClosed));
        }
        Lent::from(self.open(&self.beside)).await
    }

    /// A connection to write an end through.
    pub(super) async fn ending(&self) -> Result<Lent<DB>, Error> {
        let mut own = pin!(Lent::from(&self.pool));
        match timeout(PATIENCE, own.as_mut()).await {
            Ok(Ok(lent)) => return Ok(lent),
            Ok(Err(error)) if self.is_irreplaceable || self.is_closed() => return Err(error),
            Ok(Err(_)) => return Lent::from(self.open(&self.for_ends)).await,
            Err(_) if self.is_irreplaceable => return own.await,
            Err(_) => {}
        }
        let mut spare = pin!(Lent::from(self.open(&self.for_ends)));
        // Whichever is there first; one that fails leaves it to the other.
        let mut failed = (false, false);
        poll_fn(|context| {
            if !failed.0
                && let Poll::Ready(lent) = own.as_mut().poll(context)
            {
                match lent {
                    Ok(lent) => return Poll::Ready(Ok(lent)),
                    Err(error) if failed.1 => return Poll::Ready(Err(error)),
                    Err(_) => failed.0 = true,
                }
            }
            if !failed.1
                && let Poll::Ready(lent) = spare.as_mut().poll(context)
            {
                match lent {
                    Ok(lent) => return Poll::Ready(Ok(lent)),
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
        for beside in [&mut self.beside, &mut self.for_ends] {
            if let (Some(opened), Ok(runtime)) = (beside.take(), Handle::try_current()) {
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
