//! A connection for one short transaction.

use sqlx::Pool;
use sqlx::pool::PoolConnection;

use super::unit::{UNFIT_AT_MOST, acquire_undropped};
use crate::error::Error;
use crate::store::{Backend, Session as _};

/// A pooled connection that is closed, and not handed back, unless what it was for came to its end: a
/// future may be dropped with a transaction half-way.
pub(crate) struct Lent<DB: Backend> {
    pub(crate) conn: PoolConnection<DB>,
    is_clean: bool,
    /// Whether closing it would end the database: then it is cleared of what may have been left on it,
    /// by `give_back`, and by whoever has it next after a drop.
    is_irreplaceable: bool,
}

impl<DB: Backend> Lent<DB> {
    pub(crate) async fn from(pool: &Pool<DB>) -> Result<Self, Error> {
        let is_irreplaceable = DB::home(pool)?.ends_with_connections;
        for _ in 0..=UNFIT_AT_MOST {
            let acquired = if is_irreplaceable {
                acquire_undropped(pool).await
            } else {
                pool.acquire().await
            };
            let mut lent = Self {
                conn: acquired.map_err(DB::fold)?,
                is_clean: false,
                is_irreplaceable,
            };
            if is_irreplaceable {
                DB::clear(&mut lent.conn).await;
            }
            // One that somebody forgot a transaction on is closed, and another takes its place.
            if !lent.conn.has_transaction() {
                return Ok(lent);
            }
        }
        Err(Error::AlreadyInTransaction)
    }

    /// Hands it back, or closes or clears it: whether it is as it was is the caller's to say.
    pub(crate) async fn give_back(mut self, is_clean: bool) {
        if !is_clean && self.is_irreplaceable {
            DB::clear(&mut self.conn).await;
        }
        self.is_clean = is_clean;
    }
}

impl<DB: Backend> Drop for Lent<DB> {
    fn drop(&mut self) {
        if !self.is_clean && !self.is_irreplaceable {
            self.conn.close_on_drop();
        }
    }
}
