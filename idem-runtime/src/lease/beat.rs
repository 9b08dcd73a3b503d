//! Signs of life, given by a task of its own while the body runs.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::attempt::{Attempt, Beat};
use super::ending::Holder;
use crate::engine::RESOLVE_WITHIN;
use crate::error::Error;
use crate::outcome::Change;
use crate::store::CommitError;
use crate::store::lease::{LeaseBackend, Write};

/// The task, ended on drop: with the run, also where that panics. Tasks that the body has started are
/// told then: the lease is nobody's to count on any more.
pub(super) struct Beating {
    task: JoinHandle<()>,
    attempt: Attempt,
}

impl Drop for Beating {
    fn drop(&mut self) {
        self.task.abort();
        self.attempt.lose();
    }
}

/// Starts to give signs of life.
pub(super) fn start<DB: LeaseBackend>(
    holder: Holder<DB>,
    attempt: Attempt,
    asked: mpsc::UnboundedReceiver<Beat>,
) -> Beating {
    let task = tokio::spawn(beat(holder, attempt.clone(), asked));
    Beating { task, attempt }
}

/// At each third of the lease, or when the body asks, until the lease is lost.
async fn beat<DB: LeaseBackend>(
    holder: Holder<DB>,
    attempt: Attempt,
    mut asked: mpsc::UnboundedReceiver<Beat>,
) {
    let lease = holder.lease.duration();
    let mut next = attempt.life().until - lease + jittered(lease / 3);
    loop {
        // The sender is in the attempt's handle, and one of them is here.
        let beat = timeout_at(next, asked.recv()).await.ok().flatten();
        let sent = Instant::now();
        let answer = extend(&holder, bound(attempt.life().until, sent, lease)).await;
        match &answer {
            Ok(()) => {
                attempt.live(sent + lease);
                next = sent + jittered(lease / 3);
            }
            Err(Error::LeaseLost) => attempt.lose(),
            // Not reached: try soon again, and until the end of the lease.
            Err(_) if Instant::now() < attempt.life().until => {
                let soon = Instant::now() + jittered(lease / 30);
                next = soon.min(attempt.life().until);
            }
            Err(_) => attempt.lose(),
        }
        if let Some(beat) = beat {
            // The body may have given the question up.
            let _ = beat.send(answer);
        }
        if attempt.is_lost() {
            return;
        }
    }
}

/// Until when to wait for an answer: the end of the lease. A process that stood still for longer than
/// its lease may find it untouched all the same, and gets one more chance.
fn bound(until: Instant, sent: Instant, lease: Duration) -> Instant {
    if sent < until {
        until
    } else {
        sent + (lease / 3).min(RESOLVE_WITHIN)
    }
}

/// One sign of life, waited for until then.
async fn extend<DB: LeaseBackend>(holder: &Holder<DB>, until: Instant) -> Result<(), Error> {
    let lasts = holder.lease.micros();
    let write = Write::own(Change::Extend, holder.ask.attempt_id, lasts);
    match timeout_at(until, holder.write(&write)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(CommitError::RolledBack(error))) => Err(error),
        Ok(Err(CommitError::Ambiguous(lost))) => Err(Error::CommitUnknown(lost.into())),
        Err(_) => Err(Error::Unavailable(sqlx::Error::PoolTimedOut.into())),
    }
}

/// A tenth more or less, so that what was claimed together does not beat together for ever.
fn jittered(time: Duration) -> Duration {
    let thousandths = u32::from(Uuid::new_v4().as_bytes()[0]) * 200 / 255;
    time * (900 + thousandths) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jitter_is_a_tenth_at_most() {
        let time = Duration::from_secs(100);
        for _ in 0..1000 {
            let jittered = jittered(time);
            assert!(jittered >= time * 9 / 10 && jittered <= time * 11 / 10);
        }
    }
}
