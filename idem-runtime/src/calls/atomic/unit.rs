//! The unit of work of one call, for all its attempts to claim.

use super::connection::ConnectionGuard;
use super::retry::Retries;
use super::source::{Begin, TransactionParam};
use crate::stores::Backend;

/// The connection of a call, and what the call keeps between its attempts.
pub struct Unit<'c, DB: Backend> {
    pub(super) connection: ConnectionGuard<'c, DB>,
    pub(super) retries: Retries<DB::Approach>,
}

/// Creates a unit of work on `db`; sends nothing.
pub fn unit<'c, Tx: TransactionParam>(db: impl Begin<'c, Tx>) -> Unit<'c, Tx::Database> {
    Unit {
        connection: ConnectionGuard::new(db.source()),
        retries: Retries::default(),
    }
}
