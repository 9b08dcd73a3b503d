//! From what a caller passes to where a lease is kept.

use std::fmt;

use sqlx::Pool;

use crate::store::LeaseBackend;

/// Where a leased handler keeps its lease: a `&Pool`. Sealed.
///
/// A pool and nothing less: the run is detached from its caller, writes from tasks of its own, and
/// outlives any transaction.
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
