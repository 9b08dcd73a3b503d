//! Waits for a key that another attempt holds, without a connection.
//!
//! All calls of a process that wait for one key through one pool stand in one line (`lines`). One task
//! looks the key up for all of them (`poller`), by a plain query without a transaction, at the pauses of
//! `schedule`. What it finds wakes them (`key_state`):
//!
//! - A record is shown to all. Those whom it answers, by `decide`, ask for it through their own connection:
//!   the look only wakes them. Another connection of the pool may read another table.
//! - If nobody holds the key, one waiter at a time claims it, in the order in which they came. The others
//!   go on waiting.
//! - If a look is refused, one waiter claims for itself, and its caller gets the error.
//!
//! **If a waiter is dropped**, its place in the line is free. The poller belongs to all of them: it ends
//! with the last, or with its runtime. In the second case those who still wait start another. **If a look
//! is not answered** within 5 seconds, its connection is closed and the next look takes another one. A
//! waiter whose turn it is and who does not use it holds the others up for as long.
//!
//! The deadline of a call bounds its whole wait, also for a connection to claim with.

mod key_state;
mod lines;
mod poller;
pub(crate) mod schedule;

use sqlx::Pool;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::{Instant, timeout_at};

use self::key_state::Version;
pub(crate) use self::lines::Turn;
#[cfg(feature = "test-switches")]
pub use self::lines::observed;
use self::lines::{Joined, LineId, News};
use crate::decision::{DecideInput, Decision, Lookup, decide};
use crate::stores::{Backend, ClaimRequest, PoolTraitsOf};
use crate::values::error::Error;

/// A call that waits for its key.
pub(crate) struct Waiting<'a, DB: Backend> {
    pub(crate) pool: &'a Pool<DB>,
    pub(crate) claim_request: &'a ClaimRequest<PoolTraitsOf<DB>>,
    pub(crate) input: DecideInput<'a>,
    pub(crate) deadline: Instant,
    /// The refusal if the time is over.
    pub(crate) over: Error,
    /// How often the call has waited before: a new poller begins with longer pauses.
    pub(crate) waits: u32,
    pub(crate) shown: &'a mut Shown,
}

/// The record that a call has been shown last, by all its waits. The same one does not wake it again.
#[derive(Debug, Default)]
pub(crate) struct Shown(Option<Version>);

/// The end of a wait.
pub(crate) enum Waited {
    /// The call claims the key, and is told if there is a record. Without a turn, others do so as well.
    Claim(Option<Turn>),
    /// The time is over: the refusal.
    Over(Error),
}

/// Returns whether calls wait for the key of this request: then one more need not ask the database.
pub(crate) fn is_waited_for<DB: Backend>(
    pool: &Pool<DB>,
    claim_request: &ClaimRequest<PoolTraitsOf<DB>>,
) -> bool {
    lines::is_waited_for(lines::key(pool, claim_request.lock_key))
}

/// Waits until a record answers the call, or it is this call's turn to claim it, or the time is over.
pub(crate) async fn wait<DB: Backend>(mut waiting: Waiting<'_, DB>) -> Waited {
    let key = lines::key(waiting.pool, waiting.claim_request.lock_key);
    while Instant::now() < waiting.deadline {
        let takes_over = waiting.input.lease_holder.is_some();
        let ticket = match lines::join(key, takes_over, waiting.shown.0) {
            Joined::Found(found) => Err(found),
            Joined::Waits(ticket) => Ok(ticket),
            Joined::First(ticket) => {
                ticket.is_polled_by(waiting.start_poller(ticket.line()));
                Ok(ticket)
            }
        };
        let news = match ticket {
            Err(found) => Some(News::Found(found)),
            Ok(ticket) => match timeout_at(waiting.deadline, ticket.news()).await {
                Ok(news) => news,
                Err(_) => break,
            },
        };
        match news {
            Some(News::Claim(turn)) => return Waited::Claim(turn),
            Some(News::Found(found)) => {
                waiting.shown.0 = key_state::version(&found);
                if waiting.is_answered(&found) {
                    return Waited::Claim(None);
                }
            }
            // The poller's runtime has ended; if it is this one, this task ends at the next await.
            None => yield_now().await,
        }
    }
    Waited::Over(waiting.over)
}

impl<DB: Backend> Waiting<'_, DB> {
    fn start_poller(&self, line: LineId) -> AbortHandle {
        let (pool, request) = (self.pool.clone(), self.claim_request.anew());
        poller::start(line, pool, request, self.waits)
    }

    /// Returns whether the record ends the wait: the call need not wait for its turn to claim.
    fn is_answered(&mut self, found: &Lookup) -> bool {
        match decide(found.clone(), self.input) {
            Decision::Refuse(over @ Error::InFlight { .. }) => {
                self.over = over;
                false
            }
            Decision::Run { .. } | Decision::TakeOver { .. } | Decision::Lapse(_) => false,
            _ => true,
        }
    }
}
