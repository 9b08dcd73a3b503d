//! The unit of work's connection: where it comes from, and what becomes of it if the call is
//! dropped.

use std::time::Duration;

use sqlx::Pool;
use sqlx::pool::PoolConnection;
use tokio::time::Instant;

use super::source::{Begin, From, Source, TransactionParam};
use crate::error::Error;
use crate::identity::Mark;
use crate::store::{Backend, Declined};

/// Owns what a call holds of the database.
///
/// While *armed*, dropping it closes the connection instead of handing it back: its state is not
/// known. A call dropped half-way, a failed rollback and a lost answer all end there, and the
/// server rolls back what was open.
pub struct Unit<'c, DB: Backend> {
    pub(super) source: Source<'c, DB>,
    pub(super) pooled: Option<PoolConnection<DB>>,
    pub(super) state: State,
}

/// What a unit remembers between its attempts.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(crate) struct State {
    /// Whether the connection's state is not known.
    pub(crate) armed: bool,
    /// Whether closing it would end the database: then the driver's own clean-up has to do.
    pub(crate) irreplaceable: bool,
    /// Wait this long, without a connection, before the next attempt.
    pub(crate) pause: Option<Duration>,
    /// When waiting for an attempt in flight ends.
    deadline: Option<Instant>,
    /// When trying again after momentary locks ends.
    held_up: Option<Instant>,
    /// How often this call has waited.
    pub(crate) waits: u32,
    /// How many pooled connections came inside a transaction that somebody forgot on them.
    pub(crate) unfit: u32,
    /// Whether a body may have left the connection with answers that nobody has read.
    pub(crate) unproven: bool,
    /// Whether the connection was found not to answer what it is asked.
    pub(crate) out_of_step: bool,
    /// Whether the call has begun again because prepared statements were lost.
    pub(crate) renewed: bool,
    /// Whether a BEGIN that failed may have left something on the connection.
    pub(crate) unclear: bool,
    /// The mark of the call's identity, made at its first attempt.
    pub(crate) mark: Option<Mark>,
    /// Why the last attempt could not begin and claim in one message.
    pub(crate) declined: Option<Declined>,
    /// An error to answer with once the caller's connection is clear of what was begun on it.
    pub(crate) failed: Option<Error>,
}

impl State {
    /// Whether to try again after a momentary lock; arranges the pause.
    pub(crate) fn hold_on(&mut self) -> bool {
        let until = *self.held_up.get_or_insert_with(|| Instant::now() + HOLD_ON);
        self.pause_until(until)
    }

    /// Whether to wait once more, at most until `wait` after the first refusal; arranges the pause.
    pub(crate) fn wait(&mut self, wait: Duration) -> bool {
        let until = *self.deadline.get_or_insert_with(|| Instant::now() + wait);
        self.pause_until(until)
    }

    fn pause_until(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        self.pause = Some(pause(self.waits).min(left));
        self.waits = self.waits.saturating_add(1);
        true
    }
}

/// How long a call tries again where the database does not wait by itself (SQLite's shared cache) or
/// must not (MySQL's claim): 5 seconds.
const HOLD_ON: Duration = Duration::from_secs(5);

/// How many pooled connections that come inside a transaction are closed before the pool itself is
/// taken to be at fault, and the call is refused: 3.
pub(super) const UNFIT_AT_MOST: u32 = 3;

/// The pause before attempt `n + 2`: from 2 ms, doubling to 64 ms.
pub(crate) fn pause(n: u32) -> Duration {
    Duration::from_millis(2 << n.min(5))
}

/// Acquires in a task of its own: a dropped `acquire` closes the connection that it was trying out
/// (sqlx 0.9).
pub(crate) async fn acquire_undropped<DB: Backend>(
    pool: &Pool<DB>,
) -> Result<PoolConnection<DB>, sqlx::Error> {
    let pool = pool.clone();
    match tokio::spawn(async move { pool.acquire().await }).await {
        Ok(acquired) => acquired,
        Err(_) => Err(sqlx::Error::PoolClosed),
    }
}

/// A unit of work on what the caller passed. Nothing is sent yet.
pub fn unit<'c, Tx: TransactionParam>(db: impl Begin<'c, Tx>) -> Unit<'c, Tx::Database> {
    Unit {
        source: db.source(),
        pooled: None,
        state: State::default(),
    }
}

impl<DB: Backend> Unit<'_, DB> {
    /// Its connection, acquired if need be, beside its state; and the pool it is from.
    pub(super) async fn connect(
        &mut self,
    ) -> Result<(&mut DB::Connection, &mut State, Option<Pool<DB>>), sqlx::Error> {
        let Self {
            source,
            pooled,
            state,
        } = self;
        match &mut source.0 {
            From::Pool(pool) => {
                if pooled.is_none() {
                    *pooled = Some(if state.irreplaceable {
                        acquire_undropped(pool).await?
                    } else {
                        pool.acquire().await?
                    });
                }
                match pooled {
                    Some(conn) => Ok((&mut **conn, state, Some(pool.clone()))),
                    None => Err(sqlx::Error::PoolClosed),
                }
            }
            From::Pooled(conn) => Ok((&mut ***conn, state, None)),
            From::Connection(conn) => Ok((&mut **conn, state, None)),
        }
    }

    /// Gives a pooled connection back, or closes it while armed.
    pub(super) fn part(&mut self) {
        if let Some(mut conn) = self.pooled.take()
            && self.state.armed
            && !self.state.irreplaceable
        {
            conn.close_on_drop();
        }
        self.state.armed = false;
    }

    pub(super) fn pool(&self) -> Option<&Pool<DB>> {
        match &self.source.0 {
            From::Pool(pool) => Some(pool),
            From::Pooled(_) | From::Connection(_) => None,
        }
    }
}

impl<DB: Backend> Drop for Unit<'_, DB> {
    fn drop(&mut self) {
        if self.state.armed
            && let From::Pooled(conn) = &mut self.source.0
        {
            conn.close_on_drop();
        }
        self.part();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_another_attempt_and_for_a_momentary_lock_have_a_time_each() {
        let mut state = State::default();
        assert!(!state.wait(Duration::ZERO));
        assert!(state.hold_on());
        let mut state = State::default();
        assert!(state.hold_on());
        assert!(state.wait(HOLD_ON * 2));
        let times = (state.held_up.unwrap(), state.deadline.unwrap());
        assert!(times.0 + HOLD_ON <= times.1);
    }
}
