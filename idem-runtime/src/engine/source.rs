//! From what a caller passes to where a unit of work begins.

use std::fmt;

use sqlx::pool::PoolConnection;
use sqlx::{Pool, Transaction};

use crate::store::Backend;

/// What a handler's first parameter refers to: `sqlx::Transaction<'_, DB>` and nothing else.
/// Sealed.
#[diagnostic::on_unimplemented(
    message = "the first parameter of an idempotent handler is the transaction its body sees, not `&mut {Self}`",
    label = "write `&mut sqlx::Transaction<'_, DB>` here, or an alias of it such as `&mut PgTransaction<'_>`"
)]
pub trait TransactionParam: sealed::Sealed {
    /// The database of the transaction.
    type Database: Backend;
}

impl<DB: Backend> TransactionParam for Transaction<'_, DB> {
    type Database = DB;
}

mod sealed {
    pub trait Sealed {}
    impl<DB: super::Backend> Sealed for super::Transaction<'_, DB> {}
}

/// Anything a unit of work of the transaction type `Tx` can begin on.
///
/// `&Pool` and connections: BEGIN and COMMIT are the library's. A `&mut Transaction`, or a
/// connection that sqlx knows to be inside one: a savepoint in the caller's transaction; if the
/// caller rolls back later, nothing has happened.
///
/// Prefer a pool, or a `&mut PoolConnection`, over a bare connection where a call may be dropped
/// half-way (a timeout, a client that hangs up): one dropped while BEGIN is on its way leaves a bare
/// PostgreSQL or MySQL connection inside a transaction that sqlx does not know of, and there is nobody to
/// close it. The library's next call on it says [`Error::AlreadyInTransaction`](crate::Error) and
/// clears it; other code would write into that transaction.
///
/// It is `Debug`, as `#[tracing::instrument]` asks of what it does not skip: sqlx shows the pool's
/// options and no connection string.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot begin a `{Tx}`",
    label = "pass `&pool`, `&mut connection` or `&mut tx` of the same database",
    note = "inside a handler, pass `&mut *tx`"
)]
pub trait Begin<'c, Tx>: fmt::Debug {
    /// Converts; nothing is sent yet.
    // The bound is here, or a wrong transaction type would be reported for the signature as well.
    fn source(self) -> Source<'c, DatabaseOf<Tx>>
    where
        Tx: TransactionParam;
}

type DatabaseOf<Tx> = <Tx as TransactionParam>::Database;

/// Where a unit of work begins.
pub struct Source<'c, DB: Backend>(pub(crate) From<'c, DB>);

pub(crate) enum From<'c, DB: Backend> {
    Pool(Pool<DB>),
    Pooled(&'c mut PoolConnection<DB>),
    Connection(&'c mut DB::Connection),
}

impl<'c, 't, DB: Backend> Begin<'c, Transaction<'t, DB>> for &'c Pool<DB> {
    fn source(self) -> Source<'c, DatabaseOf<Transaction<'t, DB>>> {
        Source(From::Pool(self.clone()))
    }
}

impl<'c, 't, DB: Backend> Begin<'c, Transaction<'t, DB>> for &'c mut PoolConnection<DB> {
    fn source(self) -> Source<'c, DatabaseOf<Transaction<'t, DB>>> {
        Source(From::Pooled(self))
    }
}

impl<'c, 't, DB: Backend> Begin<'c, Transaction<'t, DB>> for &'c mut Transaction<'_, DB> {
    fn source(self) -> Source<'c, DatabaseOf<Transaction<'t, DB>>> {
        Source(From::Connection(&mut **self))
    }
}

macro_rules! begin_on_connection {
    ($feature:literal, $database:ty, $connection:ty) => {
        #[cfg(feature = $feature)]
        impl<'c, 't> Begin<'c, Transaction<'t, $database>> for &'c mut $connection {
            fn source(self) -> Source<'c, DatabaseOf<Transaction<'t, $database>>> {
                Source(From::Connection(self))
            }
        }
    };
}

begin_on_connection!("postgres", sqlx::Postgres, sqlx::PgConnection);
begin_on_connection!("mysql", sqlx::MySql, sqlx::MySqlConnection);
begin_on_connection!("sqlite", sqlx::Sqlite, sqlx::SqliteConnection);
