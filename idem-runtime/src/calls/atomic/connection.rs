//! The connection of a unit of work, and what happens to it if the call is dropped.

use std::mem;

use sqlx::Pool;
use sqlx::pool::PoolConnection;
use tokio::time::{Instant, timeout_at};

use super::source::{From, Source};
use crate::calls::kit::pooled_conn::{MAX_DIRTY_CONNECTIONS, acquire};
use crate::stores::{Backend, PoolTraitsOf, Session as _};
use crate::values::error::Error;

/// Owns the connection of a call. While its state is not known, dropping the guard closes the
/// connection instead of returning it to the pool, and the server rolls back the open transaction.
/// This covers a dropped call, a failed rollback and a lost answer.
pub(super) struct ConnectionGuard<'c, DB: Backend> {
    source: Source<'c, DB>,
    acquired: Option<PoolConnection<DB>>,
    state: ConnectionState,
    /// Whether closing the connection would delete the database (SQLite in memory): then it is
    /// never closed, and only the driver's own rollback applies.
    is_irreplaceable: bool,
    /// How many pooled connections were already inside a transaction when acquired.
    dirty_connections: u32,
}

/// What a call knows of its connection. The driver's transaction borrows the connection itself.
#[derive(Debug, Default)]
pub(super) struct ConnectionState {
    /// Whether the connection is closed on drop, because its state is not known.
    close_on_drop: bool,
    /// Whether a failed BEGIN may have left a transaction on the connection.
    begin_unresolved: bool,
    answers: Answers,
}

/// Whether the connection's answers match its statements after a body.
#[derive(Debug, Default)]
struct Answers {
    /// Whether a body may have left unread answers on the connection.
    unchecked: bool,
    /// Whether answers are known not to match.
    out_of_sync: bool,
}

impl ConnectionState {
    /// Sets whether the connection is closed on drop.
    pub(super) fn set_close_on_drop(&mut self, close: bool) {
        self.close_on_drop = close;
    }

    /// Lets the next attempt end the transaction that a failed BEGIN may have left.
    pub(super) fn set_begin_unresolved(&mut self) {
        self.begin_unresolved = true;
    }

    /// Lets [`ConnectionGuard::check_sync`] check the connection, because a body was rolled back on
    /// it.
    pub(super) fn set_unchecked(&mut self) {
        self.answers.unchecked = true;
    }

    /// Records that an answer was not that of the statement sent.
    pub(super) fn set_out_of_sync(&mut self) {
        self.answers.out_of_sync = true;
    }

    pub(super) fn is_out_of_sync(&self) -> bool {
        self.answers.out_of_sync
    }
}

impl<'c, DB: Backend> ConnectionGuard<'c, DB> {
    /// Guards the connection of this source; acquires none yet.
    pub(super) fn new(source: Source<'c, DB>) -> Self {
        Self {
            source,
            acquired: None,
            state: ConnectionState::default(),
            is_irreplaceable: false,
            dirty_connections: 0,
        }
    }

    /// Returns the connection, acquired if needed, and its state.
    pub(super) async fn connect(
        &mut self,
    ) -> Result<(&mut DB::Connection, &mut ConnectionState), sqlx::Error> {
        let conn = match &mut self.source.0 {
            From::Pool(pool) => {
                if self.acquired.is_none() {
                    self.acquired = Some(acquire(pool, self.is_irreplaceable).await?);
                }
                match &mut self.acquired {
                    Some(conn) => &mut **conn,
                    None => return Err(sqlx::Error::PoolClosed),
                }
            }
            From::Pooled(conn) => &mut ***conn,
            From::Connection(conn) => &mut **conn,
        };
        Ok((conn, &mut self.state))
    }

    /// Acquires the connection of a pool, if none is acquired. Returns whether that was done by the deadline.
    pub(super) async fn acquire_by(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<bool, sqlx::Error> {
        let Some(deadline) = deadline else {
            self.connect().await?;
            return Ok(true);
        };
        match timeout_at(deadline, self.connect()).await {
            Ok(connected) => connected.map(|_| true),
            Err(_) => Ok(false),
        }
    }

    /// Returns whether the library acquires the connection from a pool.
    pub(super) fn is_pooled(&self) -> bool {
        self.pool().is_some()
    }

    /// Returns the traits of the pool, if there is one, and remembers whether its connections may be
    /// closed.
    pub(super) fn pool_traits(&mut self) -> Result<PoolTraitsOf<DB>, Error> {
        let traits = self.pool().map(DB::pool_traits).transpose()?;
        let traits = traits.unwrap_or_default();
        self.is_irreplaceable = DB::is_irreplaceable(&traits);
        Ok(traits)
    }

    /// Returns whether the connection is usable. A pooled connection that is inside a transaction
    /// was left so by other code: if the call joined that transaction, it would return a result that
    /// is never committed. Such a connection is closed when it is released; one that may not be
    /// closed is cleared.
    ///
    /// # Errors
    /// [`Error::AlreadyInTransaction`] if the pool creates its connections inside a transaction
    /// (`after_connect`): the next connection would be the same.
    pub(super) async fn is_clean(&mut self) -> Result<bool, Error> {
        if !self.is_pooled() {
            return Ok(true);
        }
        let is_irreplaceable = self.is_irreplaceable;
        let (conn, state) = self.connect().await.map_err(DB::map_error)?;
        if !conn.has_transaction() {
            return Ok(true);
        }
        if is_irreplaceable {
            DB::clear(conn).await;
            return if conn.has_transaction() {
                Err(Error::AlreadyInTransaction)
            } else {
                Ok(true)
            };
        }
        state.set_close_on_drop(true);
        self.dirty_connections += 1;
        if self.dirty_connections > MAX_DIRTY_CONNECTIONS {
            return Err(Error::AlreadyInTransaction);
        }
        Ok(false)
    }

    /// Ends the transaction that a failed BEGIN may have left on the connection.
    pub(super) async fn end_unresolved_begin(&mut self) -> Result<(), Error> {
        if self.state.begin_unresolved {
            let (conn, state) = self.connect().await.map_err(DB::map_error)?;
            DB::clear(conn).await;
            state.begin_unresolved = false;
            state.close_on_drop = false;
        }
        Ok(())
    }

    /// Returns whether the connection's answers still match its statements after a body. If they do
    /// not, a pooled connection is closed, and the session of the caller's own connection is ended.
    pub(super) async fn check_sync(&mut self) -> bool {
        if !mem::take(&mut self.state.answers.unchecked) {
            return true;
        }
        let is_callers = matches!(self.source.0, From::Connection(_));
        let Ok((conn, state)) = self.connect().await else {
            return true;
        };
        // If the call is dropped here, the connection is closed.
        let close_on_drop = mem::replace(&mut state.close_on_drop, true);
        let in_sync = !mem::take(&mut state.answers.out_of_sync) && DB::is_in_sync(conn).await;
        if in_sync {
            state.close_on_drop = close_on_drop;
        } else if is_callers {
            DB::hang_up(conn).await;
        }
        in_sync
    }

    /// Closes the connection on drop, because its state is not known.
    pub(super) fn close_on_drop(&mut self) {
        self.state.close_on_drop = true;
    }

    /// Closes an acquired connection whose state is not known. Any other stays acquired.
    pub(super) fn release_unknown(&mut self) {
        if self.state.close_on_drop {
            self.release();
        }
    }

    /// Returns an acquired connection to the pool, or closes it if its state is not known.
    pub(super) fn release(&mut self) {
        if let Some(mut conn) = self.acquired.take()
            && self.state.close_on_drop
            && !self.is_irreplaceable
        {
            conn.close_on_drop();
        }
        self.state.close_on_drop = false;
    }

    /// Returns the pool, if the library acquires the connection.
    pub(super) fn pool(&self) -> Option<&Pool<DB>> {
        match &self.source.0 {
            From::Pool(pool) => Some(pool),
            From::Pooled(_) | From::Connection(_) => None,
        }
    }
}

impl<DB: Backend> Drop for ConnectionGuard<'_, DB> {
    fn drop(&mut self) {
        if self.state.close_on_drop
            && let From::Pooled(conn) = &mut self.source.0
        {
            conn.close_on_drop();
        }
        self.release();
    }
}
