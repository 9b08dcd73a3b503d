//! A pooled connection for one short transaction.

use sqlx::Pool;
use sqlx::pool::PoolConnection;

use crate::stores::{Backend, Session as _};
use crate::values::error::Error;

/// How many pooled connections that are already inside a transaction are closed before the call is
/// refused: 3. More of them indicate that the pool creates them so.
pub(crate) const MAX_DIRTY_CONNECTIONS: u32 = 3;

/// Acquires a connection. One that is irreplaceable is acquired in its own task: a dropped `acquire`
/// closes the connection that it was testing (sqlx 0.9).
pub(crate) async fn acquire<DB: Backend>(
    pool: &Pool<DB>,
    is_irreplaceable: bool,
) -> Result<PoolConnection<DB>, sqlx::Error> {
    if !is_irreplaceable {
        return pool.acquire().await;
    }
    let pool = pool.clone();
    match tokio::spawn(async move { pool.acquire().await }).await {
        Ok(acquired) => acquired,
        Err(_) => Err(sqlx::Error::PoolClosed),
    }
}

/// A pooled connection that is closed on drop unless its work finished: the future may be dropped
/// inside a transaction.
pub(crate) struct PooledConn<DB: Backend> {
    pub(crate) conn: PoolConnection<DB>,
    is_clean: bool,
    /// Whether closing it would delete the database (SQLite in memory). Then an open transaction is
    /// ended by `give_back`, or after a drop by the next user of the connection.
    is_irreplaceable: bool,
}

impl<DB: Backend> PooledConn<DB> {
    pub(crate) async fn from(pool: &Pool<DB>) -> Result<Self, Error> {
        let is_irreplaceable = DB::is_irreplaceable(&DB::pool_traits(pool)?);
        for _ in 0..=MAX_DIRTY_CONNECTIONS {
            let acquired = acquire(pool, is_irreplaceable).await;
            let mut pooled = Self {
                conn: acquired.map_err(DB::map_error)?,
                is_clean: false,
                is_irreplaceable,
            };
            if is_irreplaceable {
                DB::clear(&mut pooled.conn).await;
            }
            // A connection that other code left inside a transaction is closed, and the next one is
            // tried.
            if !pooled.conn.has_transaction() {
                return Ok(pooled);
            }
        }
        Err(Error::AlreadyInTransaction)
    }

    /// Returns the connection to the pool if `is_clean`; otherwise closes it, or ends the
    /// transaction on it if it is irreplaceable.
    pub(crate) async fn give_back(mut self, is_clean: bool) {
        if !is_clean && self.is_irreplaceable {
            DB::clear(&mut self.conn).await;
        }
        self.is_clean = is_clean;
    }
}

impl<DB: Backend> Drop for PooledConn<DB> {
    fn drop(&mut self) {
        if !self.is_clean && !self.is_irreplaceable {
            self.conn.close_on_drop();
        }
    }
}
