//! Converts the database argument of a leased call to a pool.

use std::fmt;

use sqlx::Pool;

use crate::stores::LeaseBackend;

/// The database argument of a leased handler: a `&Pool`. Sealed.
///
/// It must be a pool: the run is detached from its caller, writes from its own tasks, and outlives
/// any transaction.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot keep a lease",
    label = "pass `&pool`",
    note = "a lease outlives any transaction: its claim is committed before the body runs, and the body runs detached from its caller"
)]
pub trait LeaseSource: sealed::Sealed + fmt::Debug {
    /// The database of the record.
    type Database: LeaseBackend;

    #[doc(hidden)]
    fn lease_pool(self) -> Pool<Self::Database>;
}

impl<DB: LeaseBackend> LeaseSource for &Pool<DB> {
    type Database = DB;

    fn lease_pool(self) -> Pool<DB> {
        self.clone()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<DB: super::LeaseBackend> Sealed for &super::Pool<DB> {}
}
