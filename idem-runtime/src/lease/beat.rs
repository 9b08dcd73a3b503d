//! Signs of life, given by a task of its own while the body runs, or by another run's on its behalf.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::attempt::{Attempt, Beat};
use super::ending::Holder;
use super::heartbeats::{Heartbeats, Held};
use crate::engine::RESOLVE_WITHIN;
use crate::engine::lent::Lent;
use crate::error::Error;
use crate::store::CommitError;
use crate::store::lease::{Due, Extended, LeaseBackend, LeaseSession as _};

/// The task, ended on drop: with the run, also where that panics. Tasks that the body has started are
/// told then: the lease is nobody's to count on any more.
pub(super) struct Beating<DB: LeaseBackend> {
    task: JoinHandle<()>,
    attempt: Attempt,
    heartbeats: Arc<Heartbeats<DB>>,
}

impl<DB: LeaseBackend> Drop for Beating<DB> {
    fn drop(&mut self) {
        self.task.abort();
        self.heartbeats.leases().remove(&self.attempt.id());
        self.attempt.lose();
    }
}

/// Starts to give signs of life.
pub(super) fn start<DB: LeaseBackend>(
    holder: &Holder<DB>,
    attempt: Attempt,
    asked: mpsc::UnboundedReceiver<Beat>,
) -> Beating<DB> {
    let heartbeats = Arc::clone(&holder.heartbeats);
    let lease = holder.lease.duration();
    attempt.due(attempt.life().until - lease + jittered(lease / 3));
    let held = Held {
        ask: holder.ask.clone(),
        lease: holder.lease,
        attempt: attempt.clone(),
    };
    heartbeats.leases().insert(attempt.id(), held.clone());
    let task = tokio::spawn(beat(Arc::clone(&heartbeats), held, asked));
    Beating {
        task,
        attempt,
        heartbeats,
    }
}

/// At each third of the lease, or when the body asks, until the lease is lost.
async fn beat<DB: LeaseBackend>(
    heartbeats: Arc<Heartbeats<DB>>,
    held: Held,
    mut asked: mpsc::UnboundedReceiver<Beat>,
) {
    let attempt = &held.attempt;
    while !attempt.life().is_lost {
        // The sender is in the attempt's handle, and one of them is here.
        let beat = timeout_at(attempt.life().due, asked.recv()).await;
        let beat = beat.ok().flatten();
        let asked = Instant::now();
        if beat.is_some() {
            // Whoever sends next carries it along.
            attempt.due(asked);
        } else if asked < attempt.life().due {
            // Another run's statement has carried this one.
            continue;
        }
        let answer = take_turn(&heartbeats, &held, asked, beat.is_some()).await;
        if let Some(beat) = beat {
            // The body may have given the question up.
            let _ = beat.send(answer);
        }
    }
}

/// Waits for whoever sends, and sends if that one did not carry this lease along.
async fn take_turn<DB: LeaseBackend>(
    heartbeats: &Arc<Heartbeats<DB>>,
    held: &Held,
    asked: Instant,
    by_body: bool,
) -> Result<(), Error> {
    let (lease, attempt) = (held.lease.duration(), &held.attempt);
    let until = bound(attempt.life().until, asked, lease);
    let turn = Arc::clone(&heartbeats.turn).lock_owned();
    let Ok(turn) = timeout_at(until, turn).await else {
        failed(held);
        return Err(Error::Unavailable(sqlx::Error::PoolTimedOut.into()));
    };
    let life = attempt.life();
    if life.is_lost {
        return Err(Error::LeaseLost);
    }
    // The body is told of a heartbeat that was sent after it asked; else any that was sent will do.
    let is_given = life.given.is_some_and(|given| given >= asked);
    if is_given || (!by_body && life.due > asked) {
        return Ok(());
    }
    let (heartbeats, held) = (Arc::clone(heartbeats), held.clone());
    // In a task of its own: a run that ends takes its own task along, and not the others' heartbeats.
    let sent = tokio::spawn(async move {
        let answer = send(&heartbeats, &held).await;
        drop(turn);
        answer
    });
    // It is cut off by the end of the runtime alone.
    sent.await.unwrap_or(Err(Error::LeaseLost))
}

/// One statement for all leases of the table that are due, or will be soon; what came of this one.
async fn send<DB: LeaseBackend>(heartbeats: &Heartbeats<DB>, own: &Held) -> Result<(), Error> {
    let now = Instant::now();
    let mut due: Vec<Held> = heartbeats.leases().values().cloned().collect();
    due.retain(|held| {
        let life = held.attempt.life();
        let soon = now + held.lease.duration() / 6;
        let is_due = !life.is_lost && (life.due <= soon || held.attempt.id() == own.attempt.id());
        is_due && held.ask.table == own.ask.table
    });
    let ends = due.iter().map(|held| {
        let until = held.attempt.life().until;
        bound(until, now, held.lease.duration())
    });
    let until = ends.min().unwrap_or(now);
    let sent = match timeout_at(until, extend(heartbeats, &due)).await {
        Ok(Ok(sent)) => Ok(sent),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Unavailable(sqlx::Error::PoolTimedOut.into())),
    };
    // All that were sent together are due together again.
    let factor = Uuid::new_v4().as_bytes()[0];
    let mut answer = Err(Error::LeaseLost);
    for held in &due {
        let came_of = settle(held, sent.as_ref().ok(), factor);
        if held.attempt.id() == own.attempt.id() {
            answer = came_of;
        }
    }
    match sent {
        Ok(_) => answer,
        Err(error) => Err(error),
    }
}

/// Tells one lease what became of its heartbeat.
fn settle(held: &Held, sent: Option<&(Instant, Extended)>, factor: u8) -> Result<(), Error> {
    let (lease, attempt) = (held.lease.duration(), &held.attempt);
    let Some((sent, extended)) = sent else {
        failed(held);
        return Ok(());
    };
    if extended.extended.contains(&attempt.id()) {
        attempt.live(*sent, *sent + lease, *sent + jittered_by(lease / 3, factor));
        return Ok(());
    }
    if extended.locked.contains(&attempt.id()) {
        // Still this attempt's, if its time may be over: whoever would take it has to wait as well.
        attempt.due(Instant::now() + jittered(lease / 30));
        let locked = sqlx::Error::Protocol("another transaction has locked the record".to_owned());
        return Err(Error::Busy(locked.into()));
    }
    attempt.lose();
    Err(Error::LeaseLost)
}

/// Not given: try soon again, and until the end of the lease.
fn failed(held: &Held) {
    let (life, now) = (held.attempt.life(), Instant::now());
    if now < life.until {
        let soon = now + jittered(held.lease.duration() / 30);
        held.attempt.due(soon.min(life.until));
    } else {
        held.attempt.lose();
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

/// Extends them, and says when that was asked for. Where all at once are refused for good, each is tried
/// by itself: one record that cannot be written is not the others' fault.
async fn extend<DB: LeaseBackend>(
    heartbeats: &Heartbeats<DB>,
    due: &[Held],
) -> Result<(Instant, Extended), Error> {
    let mut lent = heartbeats.connection().await?;
    let sent = Instant::now();
    let extended = statement(&mut lent, due).await;
    lent.give_back(extended.is_ok()).await;
    match extended {
        Err(error) if due.len() > 1 && !error.is_retryable() => {}
        extended => return Ok((sent, extended?)),
    }
    let mut all = Extended::default();
    for one in due {
        let mut lent = heartbeats.connection().await?;
        let extended = statement(&mut lent, std::slice::from_ref(one)).await;
        lent.give_back(extended.is_ok()).await;
        match extended {
            Ok(extended) => {
                all.extended.extend(extended.extended);
                all.locked.extend(extended.locked);
            }
            Err(error) if error.is_retryable() => return Err(error),
            // To be tried again until its lease ends.
            Err(_) => all.locked.extend([one.attempt.id()]),
        }
    }
    Ok((sent, all))
}

async fn statement<DB: LeaseBackend>(lent: &mut Lent<DB>, due: &[Held]) -> Result<Extended, Error> {
    let Some(first) = due.first() else {
        return Ok(Extended::default());
    };
    let leases: Vec<_> = due
        .iter()
        .map(|held| Due {
            identity: &held.ask.identity,
            attempt_id: held.attempt.id(),
            lasts: held.lease.micros(),
        })
        .collect();
    let extended = lent.conn.extend(&first.ask.table, &leases).await;
    extended.map_err(|error| match error {
        CommitError::RolledBack(error) => error,
        CommitError::Ambiguous(lost) => Error::CommitUnknown(lost.into()),
    })
}

/// A tenth more or less, so that what was claimed together does not beat together for ever.
fn jittered(time: Duration) -> Duration {
    jittered_by(time, Uuid::new_v4().as_bytes()[0])
}

fn jittered_by(time: Duration, factor: u8) -> Duration {
    let thousandths = u32::from(factor) * 200 / 255;
    time * (900 + thousandths) / 1000
}

#[cfg(test)]
mod tests;
