//! A connection for the outbox's own transactions.

use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Error, Pool};

use super::store::OutboxDatabase;

/// A connection that is closed unless its last work came to an end: that may have been dropped inside a transaction.
pub(super) enum OutboxConnection<DB: OutboxDatabase> {
    /// Beside the pool, so that a relay never waits behind the bodies that use the pool up.
    Own(Box<DB::Connection>),
    Pooled(Pooled<DB>),
}

pub(super) struct Pooled<DB: OutboxDatabase> {
    conn: PoolConnection<DB>,
    is_clean: bool,
}

impl<DB: OutboxDatabase> OutboxConnection<DB> {
    /// A connection for a relay, which keeps it.
    pub(super) async fn for_relay(pool: &Pool<DB>) -> Result<Self, Error> {
        if DB::OWN_CONNECTION {
            let options = pool.connect_options();
            let conn = DB::Connection::connect_with(&options).await?;
            return Ok(Self::Own(Box::new(conn)));
        }
        Self::from_pool(pool).await
    }

    pub(super) async fn from_pool(pool: &Pool<DB>) -> Result<Self, Error> {
        let conn = pool.acquire().await?;
        Ok(Self::Pooled(Pooled {
            conn,
            is_clean: false,
        }))
    }

    pub(super) fn get(&mut self) -> &mut DB::Connection {
        match self {
            Self::Own(conn) => conn,
            Self::Pooled(pooled) => {
                pooled.is_clean = false;
                &mut pooled.conn
            }
        }
    }

    /// Returns whether the connection may be kept while nothing is asked of it.
    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// Says that the work came to an end, so that the pool gets the connection back.
    pub(super) fn finish(&mut self) {
        if let Self::Pooled(pooled) = self {
            pooled.is_clean = true;
        }
    }
}

impl<DB: OutboxDatabase> Drop for Pooled<DB> {
    fn drop(&mut self) {
        // Where the connection is the database (SQLite in memory), closing it would delete it; there sqlx's own
        // transactions are used, which roll back when they are dropped.
        if !self.is_clean && DB::OWN_CONNECTION {
            self.conn.close_on_drop();
        }
    }
}
