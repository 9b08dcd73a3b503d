//! Heartbeats of a run, sent by its own task or together with those of another run.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::attempt::{Attempt, HeartbeatRequest};
use super::ending::HeldLease;
use super::heartbeats::{ActiveLease, Heartbeats};
use crate::calls::kit::backoff::RESOLVE_WITHIN;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::calls::telemetry::Meter;
use crate::stores::CommitError;
use crate::stores::lease::{Due, Extended, LeaseBackend, LeaseSession as _};
use crate::values::error::Error;

/// The heartbeat task of a run, aborted on drop, also if the run panics. The drop marks the lease
/// as lost for tasks that the body spawned.
pub(super) struct HeartbeatTask<DB: LeaseBackend> {
    task: JoinHandle<()>,
    attempt: Attempt,
    heartbeats: Arc<Heartbeats<DB>>,
}

impl<DB: LeaseBackend> Drop for HeartbeatTask<DB> {
    fn drop(&mut self) {
        self.task.abort();
        self.heartbeats.leases().remove(&self.attempt.id());
        self.attempt.lose();
    }
}

/// Starts the heartbeats of a run.
pub(super) fn start<DB: LeaseBackend>(
    held_lease: &HeldLease<DB>,
    attempt: Attempt,
    requests: mpsc::UnboundedReceiver<HeartbeatRequest>,
    meter: Meter,
) -> HeartbeatTask<DB> {
    let heartbeats = Arc::clone(&held_lease.heartbeats);
    let lease = held_lease.lease.duration();
    attempt.due(attempt.lease_state().until - lease + jittered(lease / 3));
    let active = ActiveLease {
        claim_request: held_lease.claim_request.on_connection(),
        lease: held_lease.lease,
        attempt: attempt.clone(),
        meter,
    };
    heartbeats.leases().insert(attempt.id(), active.clone());
    let task = tokio::spawn(extend_until_lost(Arc::clone(&heartbeats), active, requests));
    HeartbeatTask {
        task,
        attempt,
        heartbeats,
    }
}

/// Sends a heartbeat at each third of the lease and whenever the body requests one, until the lease
/// is lost.
async fn extend_until_lost<DB: LeaseBackend>(
    heartbeats: Arc<Heartbeats<DB>>,
    active: ActiveLease,
    mut requests: mpsc::UnboundedReceiver<HeartbeatRequest>,
) {
    let attempt = &active.attempt;
    while !attempt.lease_state().is_lost {
        // The channel stays open: `active.attempt` holds a sender.
        let requested = timeout_at(attempt.lease_state().due, requests.recv()).await;
        let requested = requested.ok().flatten();
        let since = Instant::now();
        if requested.is_some() {
            // The next statement extends this lease as well, whichever run sends it.
            attempt.due(since);
        } else if since < attempt.lease_state().due {
            // A statement of another run has extended this lease.
            continue;
        }
        let answer = take_turn(&heartbeats, &active, since, requested.is_some()).await;
        if let Some(answer_to) = requested {
            // The body may have stopped waiting for the answer.
            let _ = answer_to.send(answer);
        }
    }
}

/// Waits until no other run is sending. Sends then, unless a statement sent after `since` has extended
/// this lease.
async fn take_turn<DB: LeaseBackend>(
    heartbeats: &Arc<Heartbeats<DB>>,
    active: &ActiveLease,
    since: Instant,
    by_body: bool,
) -> Result<(), Error> {
    let (lease, attempt) = (active.lease.duration(), &active.attempt);
    let until = answer_deadline(attempt.lease_state().until, since, lease);
    let turn = Arc::clone(&heartbeats.turn).lock_owned();
    let Ok(turn) = timeout_at(until, turn).await else {
        retry_or_lose(active);
        return Err(Error::Unavailable(sqlx::Error::PoolTimedOut.into()));
    };
    let lease_state = attempt.lease_state();
    if lease_state.is_lost {
        return Err(Error::LeaseLost);
    }
    // A heartbeat requested by the body must have been sent after the request; otherwise any
    // successful one counts.
    let is_given = lease_state.given.is_some_and(|given| given >= since);
    if is_given || (!by_body && lease_state.due > since) {
        return Ok(());
    }
    let (heartbeats, active) = (Arc::clone(heartbeats), active.clone());
    // Send in a separate task: if this run ends, its own task is aborted, but the heartbeats of the
    // other runs must complete.
    let sent = tokio::spawn(async move {
        let answer = send(&heartbeats, &active).await;
        drop(turn);
        answer
    });
    // The task fails only if the runtime shuts down.
    sent.await.unwrap_or(Err(Error::LeaseLost))
}

/// Extends all leases of the table that are due or will be soon, by one statement. Returns the
/// result for this run's lease.
async fn send<DB: LeaseBackend>(
    heartbeats: &Heartbeats<DB>,
    own: &ActiveLease,
) -> Result<(), Error> {
    let now = Instant::now();
    let mut due: Vec<ActiveLease> = heartbeats.leases().values().cloned().collect();
    due.retain(|active| {
        let lease_state = active.attempt.lease_state();
        let soon = now + active.lease.duration() / 6;
        let is_due = !lease_state.is_lost
            && (lease_state.due <= soon || active.attempt.id() == own.attempt.id());
        is_due && active.claim_request.table == own.claim_request.table
    });
    let ends = due.iter().map(|active| {
        let until = active.attempt.lease_state().until;
        answer_deadline(until, now, active.lease.duration())
    });
    let until = ends.min().unwrap_or(now);
    let sent = match timeout_at(until, extend(heartbeats, &due)).await {
        Ok(Ok(sent)) => Ok(sent),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Unavailable(sqlx::Error::PoolTimedOut.into())),
    };
    // Leases that were extended together get the same jitter, so that they are due together again.
    let factor = Uuid::new_v4().as_bytes()[0];
    let mut answer = Err(Error::LeaseLost);
    for active in &due {
        let result = settle(active, sent.as_ref().ok(), factor);
        if active.attempt.id() == own.attempt.id() {
            answer = result;
        }
    }
    match sent {
        Ok(_) => answer,
        Err(error) => Err(error),
    }
}

/// Stores the result of the statement for one lease.
fn settle(
    active: &ActiveLease,
    sent: Option<&(Instant, Extended)>,
    factor: u8,
) -> Result<(), Error> {
    let (lease, attempt) = (active.lease.duration(), &active.attempt);
    let Some((sent, extended)) = sent else {
        retry_or_lose(active);
        return Ok(());
    };
    if extended.extended.contains(&attempt.id()) {
        // Two of three heartbeats of this lease did not come in time.
        if attempt.lease_state().until < *sent + lease / 3 {
            active.meter.heartbeat_late();
        }
        attempt.live(*sent, *sent + lease, *sent + jittered_by(lease / 3, factor));
        return Ok(());
    }
    if extended.locked.contains(&attempt.id()) {
        // The lease still belongs to this attempt, even if its time may be over: an attempt that
        // takes it over needs the same row lock.
        attempt.due(Instant::now() + jittered(lease / 30));
        let locked = sqlx::Error::Protocol("another transaction has locked the record".to_owned());
        return Err(Error::Busy(locked.into()));
    }
    attempt.lose();
    Err(Error::LeaseLost)
}

/// Schedules a retry after a failed heartbeat. Marks the lease as lost if it has ended.
fn retry_or_lose(active: &ActiveLease) {
    let (lease_state, now) = (active.attempt.lease_state(), Instant::now());
    if now < lease_state.until {
        let soon = now + jittered(active.lease.duration() / 30);
        active.attempt.due(soon.min(lease_state.until));
    } else {
        active.attempt.lose();
    }
}

/// Returns until when to wait for an answer: the end of the lease. A process that was suspended for
/// longer than its lease gets one more try, because no other attempt may have taken it.
fn answer_deadline(until: Instant, sent: Instant, lease: Duration) -> Instant {
    if sent < until {
        until
    } else {
        sent + (lease / 3).min(RESOLVE_WITHIN)
    }
}

/// Extends the leases and returns when the statement was sent. If the statement for all of them
/// fails with a permanent error, each lease is extended by itself, so that one record that cannot
/// be written does not affect the others.
async fn extend<DB: LeaseBackend>(
    heartbeats: &Heartbeats<DB>,
    due: &[ActiveLease],
) -> Result<(Instant, Extended), Error> {
    let mut pooled = heartbeats.connection().await?;
    let sent = Instant::now();
    let extended = statement(&mut pooled, due).await;
    pooled.give_back(extended.is_ok()).await;
    match extended {
        Err(error) if due.len() > 1 && !error.is_retryable() => {}
        extended => return Ok((sent, extended?)),
    }
    let mut all = Extended::default();
    for one in due {
        let mut pooled = heartbeats.connection().await?;
        let extended = statement(&mut pooled, std::slice::from_ref(one)).await;
        pooled.give_back(extended.is_ok()).await;
        match extended {
            Ok(extended) => {
                all.extended.extend(extended.extended);
                all.locked.extend(extended.locked);
            }
            Err(error) if error.is_retryable() => return Err(error),
            // Treated as locked: retried until its lease ends.
            Err(_) => all.locked.extend([one.attempt.id()]),
        }
    }
    Ok((sent, all))
}

async fn statement<DB: LeaseBackend>(
    pooled: &mut PooledConn<DB>,
    due: &[ActiveLease],
) -> Result<Extended, Error> {
    let Some(first) = due.first() else {
        return Ok(Extended::default());
    };
    let leases: Vec<_> = due
        .iter()
        .map(|active| Due {
            identity: &active.claim_request.identity,
            attempt_id: active.attempt.id(),
            lasts: active.lease.micros(),
        })
        .collect();
    let extended = pooled
        .conn
        .extend(&first.claim_request.table, &leases)
        .await;
    extended.map_err(|error| match error {
        CommitError::RolledBack(error) => error,
        CommitError::Ambiguous(lost) => Error::CommitUnknown(lost.into()),
    })
}

/// Returns the time varied by up to a tenth, so that leases claimed together are not always due
/// together.
fn jittered(time: Duration) -> Duration {
    jittered_by(time, Uuid::new_v4().as_bytes()[0])
}

fn jittered_by(time: Duration, factor: u8) -> Duration {
    let thousandths = u32::from(factor) * 200 / 255;
    time * (900 + thousandths) / 1000
}

#[cfg(test)]
mod tests;
