//! The connection of a unit of work, and what happens to it if the call is dropped.

use sqlx::Pool;
use sqlx::pool::PoolConnection;

use super::source::{Begin, From, Source, TransactionParam};
use crate::calls::kit::backoff::Backoff;
use crate::calls::kit::pooled_conn::acquire_undropped;
use crate::stores::{Backend, FusedFallback};
use crate::values::error::Error;
use crate::values::identity::LockKey;

/// Owns the connection of a call.
///
/// While `close_on_drop` is set, dropping the unit closes the connection instead of returning it to the
/// pool, because its state is not known. This covers a dropped call, a failed rollback and a lost
/// answer: the server rolls back the open transaction.
pub struct Unit<'c, DB: Backend> {
    pub(super) source: Source<'c, DB>,
    pub(super) pooled: Option<PoolConnection<DB>>,
    pub(super) state: State,
}

/// The state that a unit keeps between its attempts.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(crate) struct State {
    /// Whether the connection's state is not known: then it is closed on drop.
    pub(crate) close_on_drop: bool,
    /// Whether closing the connection would delete the database (SQLite in memory): then it is
    /// never closed, and only the driver's own rollback applies.
    pub(crate) irreplaceable: bool,
    /// The waiting between attempts.
    pub(crate) backoff: Backoff,
    /// How many pooled connections were already inside a transaction when acquired.
    pub(crate) dirty_connections: u32,
    /// Whether a body may have left unread answers on the connection.
    pub(crate) sync_unchecked: bool,
    /// Whether the connection's answers do not match its statements.
    pub(crate) out_of_sync: bool,
    /// Whether the call has started again because prepared statements were lost.
    pub(crate) statements_prepared_anew: bool,
    /// Whether a failed BEGIN may have left a transaction on the connection.
    pub(crate) begin_unresolved: bool,
    /// The hash of the call's identity, computed at its first attempt.
    pub(crate) lock_key: Option<LockKey>,
    /// Why the last attempt could not begin and claim in one message.
    pub(crate) fused_fallback: Option<FusedFallback>,
    /// The error to return after the transaction on the caller's connection has been ended.
    pub(crate) failed: Option<Error>,
}

/// Creates a unit of work on `db`; sends nothing.
pub fn unit<'c, Tx: TransactionParam>(db: impl Begin<'c, Tx>) -> Unit<'c, Tx::Database> {
    Unit {
        source: db.source(),
        pooled: None,
        state: State::default(),
    }
}

impl<DB: Backend> Unit<'_, DB> {
    /// Returns the connection, acquired if needed, with the state and the pool that it came from,
    /// if any.
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

    /// Returns a pooled connection to the pool, or closes it while `close_on_drop` is set.
    pub(super) fn release_connection(&mut self) {
        if let Some(mut conn) = self.pooled.take()
            && self.state.close_on_drop
            && !self.state.irreplaceable
        {
            conn.close_on_drop();
        }
        self.state.close_on_drop = false;
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
        if self.state.close_on_drop
            && let From::Pooled(conn) = &mut self.source.0
        {
            conn.close_on_drop();
        }
        self.release_connection();
    }
}
