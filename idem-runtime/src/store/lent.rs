//! A connection for one short transaction.

use sqlx::Pool;
use sqlx::pool::PoolConnection;

use super::backend::Backend;
use crate::error::Error;

/// A pooled connection that is closed, and not handed back, unless what it was for came to its end: a
/// future may be dropped with a transaction half-way.
pub(crate) struct Lent<DB: Backend> {
    pub(crate) conn: PoolConnection<DB>,
    pub(crate) is_clean: bool,
}

impl<DB: Backend> Lent<DB> {
    pub(crate) async fn from(pool: &Pool<DB>) -> Result<Self, Error> {
        Ok(Self {
            conn: pool.acquire().await.map_err(DB::fold)?,
            is_clean: false,
        })
    }
}

impl<DB: Backend> Drop for Lent<DB> {
    fn drop(&mut self) {
        if !self.is_clean {
            self.conn.close_on_drop();
        }
    }
}
