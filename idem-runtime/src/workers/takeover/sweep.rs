//! One sweep: searches for lapsed leases, and begins a run for each that can be taken over.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::TakeoverWorker;
use super::handler::{Ended, Handled, Run};
use super::inspect::{Inspected, identity, inspect};
use super::report::{Left, TakeoverSweep};
use crate::calls::kit::pooled_conn::PooledConn;
#[cfg(feature = "metrics")]
use crate::calls::telemetry::metrics::{TAKEOVER_LEFT, increment};
use crate::calls::telemetry::{Lapsed, Meter, TARGET};
use crate::decision::Change;
use crate::stores::lapsed::{LapsedLease, LapsedSearch};
use crate::stores::lease::{LeaseBackend, LeaseSession as _, Write};
use crate::stores::leased::certain;
use crate::stores::{ClaimRequest, PoolTraitsOf};
use crate::values::error::Error;
use crate::values::record::AttemptId;

/// The most leases that one statement returns: 100.
const PAGE: u32 = 100;

/// The runs of a worker, and what it knows from the sweeps before.
pub(super) struct Runs {
    running: JoinSet<Ended>,
    /// Those of each operation, in the order of the worker's: bodies that hang keep no other operation waiting.
    permits: Vec<Arc<Semaphore>>,
    /// The leases that were left at the last look, while they are found again.
    left: HashMap<AttemptId, Left>,
}

impl Runs {
    pub(super) fn new(operations: usize, concurrency: usize) -> Self {
        let permits = || Arc::new(Semaphore::new(concurrency));
        Self {
            running: JoinSet::new(),
            permits: std::iter::repeat_with(permits).take(operations).collect(),
            left: HashMap::new(),
        }
    }

    /// Waits until fewer runs of this operation are active than may be. Returns `None` if that is not so in time.
    async fn permit(&self, operation: usize, patience: Duration) -> Option<OwnedSemaphorePermit> {
        let permits = Arc::clone(self.permits.get(operation)?);
        // An error would mean that it is closed, and nobody closes it.
        timeout(patience, permits.acquire_owned()).await.ok()?.ok()
    }

    fn begin(&mut self, run: Run, permit: OwnedSemaphorePermit) {
        self.running.spawn(async move {
            let ended = run.await;
            drop(permit);
            ended
        });
    }

    /// Counts the runs that have ended.
    pub(super) fn count_ended(&mut self, swept: &mut TakeoverSweep) {
        while let Some(ended) = self.running.try_join_next() {
            count(&ended, swept);
        }
    }

    /// Waits for all runs, and counts them.
    pub(super) async fn ended(&mut self, swept: &mut TakeoverSweep) {
        while let Some(ended) = self.running.join_next().await {
            count(&ended, swept);
        }
    }

    /// Remembers that a lease was left.
    fn leave(&mut self, attempt_id: AttemptId, left: Left, operation: &str) {
        if self.left.insert(attempt_id, left).is_none() {
            let reason = left.name();
            tracing::warn!(target: TARGET, operation, reason, "a lapsed lease is left for its client");
            #[cfg(feature = "metrics")]
            increment(TAKEOVER_LEFT, ("reason", reason), 1);
        }
    }
}

fn count(ended: &Result<Ended, JoinError>, swept: &mut TakeoverSweep) {
    *match ended {
        Ok(Ended::Completed) => &mut swept.completed,
        // The body panicked.
        Ok(Ended::Failed) | Err(_) => &mut swept.failed,
        Ok(Ended::Overtaken) => &mut swept.overtaken,
    } += 1;
}

impl<DB: LeaseBackend> TakeoverWorker<DB> {
    /// Searches page by page, and begins what can be taken over. Adds to `swept` at once, so that it is right if the
    /// future is dropped.
    pub(super) async fn sweep(
        &self,
        runs: &mut Runs,
        swept: &mut TakeoverSweep,
    ) -> Result<(), Error> {
        let operations: Vec<_> = self
            .handled
            .iter()
            .map(|handled| (handled.operation().namespace(), handled.operation().name()))
            .collect();
        let Some(first) = self.handled.first() else {
            return Ok(());
        };
        let table = first.operation().table_name();
        let (mut after, mut still_left) = (None, HashSet::new());
        // The operations whose bodies did not end while this sweep waited for one.
        let mut busy = HashSet::new();
        loop {
            let search = LapsedSearch {
                table,
                operations: &operations,
                limit: PAGE,
                after: after.as_ref(),
            };
            let mut found = self.search(&search).await?;
            let is_last = found.len() < PAGE as usize;
            for lapsed in &found {
                if let Some(left) = self.consider(lapsed, runs, &mut busy, swept).await? {
                    swept.left.add(left);
                    still_left.insert(lapsed.attempt_id);
                    runs.leave(lapsed.attempt_id, left, &lapsed.operation);
                }
            }
            after = found.pop();
            if is_last {
                break;
            }
        }
        runs.left
            .retain(|attempt_id, _| still_left.contains(attempt_id));
        Ok(())
    }

    async fn search(&self, search: &LapsedSearch<'_>) -> Result<Vec<LapsedLease>, Error> {
        let mut pooled = PooledConn::from(&self.pool).await?;
        let found = DB::lapsed(&mut pooled.conn, search).await;
        pooled.give_back(found.is_ok()).await;
        found
    }

    /// Begins a run, or leaves the lease, or waits, or makes the outcome unknown. Returns why it is left, if it is.
    async fn consider(
        &self,
        lapsed: &LapsedLease,
        runs: &mut Runs,
        busy: &mut HashSet<usize>,
        swept: &mut TakeoverSweep,
    ) -> Result<Option<Left>, Error> {
        let at = self.handled.iter().position(|handled| {
            let operation = handled.operation();
            (operation.namespace(), operation.name()) == (&*lapsed.namespace, &*lapsed.operation)
        });
        let Some((at, handled)) = at.and_then(|at| Some((at, &**self.handled.get(at)?))) else {
            return Ok(None);
        };
        swept.found += 1;
        if let Some(left) = runs.left.get(&lapsed.attempt_id)
            && !left.may_pass()
        {
            return Ok(Some(*left));
        }
        let retry = handled.retry();
        let is_used_up = lapsed.attempt >= retry.attempts;
        let lapsed_for = lapsed.now.since(lapsed.locked_until);
        if !is_used_up && lapsed_for < retry.pause_after(lapsed.attempt) {
            swept.waiting += 1;
            return Ok(None);
        }
        let permit = if is_used_up {
            None
        } else {
            let permit = if busy.contains(&at) {
                None
            } else {
                runs.permit(at, self.interval).await
            };
            if permit.is_none() {
                busy.insert(at);
                swept.waiting += 1;
                return Ok(None);
            }
            permit
        };
        let resumable = match inspect(&self.pool, handled.operation(), lapsed).await? {
            Inspected::Resumable(resumable) => resumable,
            Inspected::Left(left) => return Ok(Some(left)),
            Inspected::Changed => return Ok(None),
        };
        let run = match handled.resume(&self.pool, resumable) {
            Ok(Some(run)) => run,
            Err(Error::Codec(_)) => return Ok(Some(Left::Codec)),
            Ok(None) | Err(_) => return Ok(Some(Left::Undecodable)),
        };
        if let Some(permit) = permit {
            runs.begin(run, permit);
            swept.begun += 1;
        } else if is_used_up {
            swept.unknown += u64::from(self.give_up(handled, lapsed).await?);
        }
        Ok(None)
    }

    /// Makes the outcome of a lapsed lease unknown, if it is still the same and still lapsed. Returns whether it is
    /// that now.
    async fn give_up(
        &self,
        handled: &dyn Handled<DB>,
        lapsed: &LapsedLease,
    ) -> Result<bool, Error> {
        let operation = handled.operation();
        let Some(identity) = identity(operation, lapsed) else {
            return Ok(false);
        };
        let claim_request: ClaimRequest<PoolTraitsOf<DB>> =
            ClaimRequest::new(operation.table_name(), identity);
        let write = Write::own(Change::Lapse, lapsed.attempt_id, 0);
        let mut pooled = PooledConn::from(&self.pool).await?;
        let written = pooled.conn.update(&claim_request, &write).await;
        pooled.give_back(written.is_ok()).await;
        let is_unknown = written.map_err(certain)?;
        if is_unknown {
            Meter::of(operation).lease_lapsed(Lapsed::Unknown);
            tracing::warn!(
                target: TARGET,
                namespace = operation.namespace(),
                operation = operation.name(),
                key = claim_request.identity.key().short_hash(),
                attempt = lapsed.attempt,
                "the attempts at a lapsed lease are used up: its outcome is unknown"
            );
        }
        Ok(is_unknown)
    }
}
