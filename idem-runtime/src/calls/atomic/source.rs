//! Converts the database argument of a call to the connection on which its unit of work begins.

use std::fmt;

use sqlx::pool::PoolConnection;
use sqlx::{Pool, Transaction};

use crate::stores::Backend;

/// The type behind a handler's first parameter: only `sqlx::Transaction<'_, DB>`. Sealed.
#[diagnostic::on_unimplemented(
    message = "[IDEM061] the first parameter of an idempotent handler is the transaction its body sees, not `&mut {Self}`",
    label = "write `&mut Transaction<'_, DB>` of sqlx 0.9, or an alias of it such as `&mut PgTransaction<'_>`",
    note = "another version's `Transaction` is another type: this crate needs sqlx 0.9, and `cargo tree -i sqlx-core` shows which versions a program has"
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

/// A type on which a unit of work of the transaction type `Tx` can begin.
///
/// On a `&Pool` or a connection, the library sends BEGIN and COMMIT. On a `&mut Transaction`, or a
/// connection that sqlx knows to be inside one, the library uses a savepoint in the caller's
/// transaction. If the caller later rolls back, nothing of the call remains.
///
/// If a call may be dropped (a timeout, a client that disconnects), pass a pool or a
/// `&mut PoolConnection` rather than a bare connection. A call dropped while BEGIN is sent leaves a
/// bare PostgreSQL or MySQL connection inside a transaction that sqlx does not know of, and nothing
/// closes the connection. The library's next call on it returns
/// [`Error::AlreadyInTransaction`](crate::Error) and ends that transaction; other code would write
/// into it.
///
/// The trait requires `Debug` because `#[tracing::instrument]` records every argument that is not
/// skipped. sqlx prints the pool's options and no connection string.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot begin a `{Tx}`",
    label = "pass `&pool`, `&mut connection` or `&mut tx` of the same database",
    note = "inside a handler, pass `&mut *tx`"
)]
pub trait Begin<'c, Tx>: fmt::Debug {
    /// Converts the argument; sends nothing.
    // The bound stands on the method: on the trait, a wrong transaction type would also be reported
    // for the signature.
    fn source(self) -> Source<'c, DatabaseOf<Tx>>
    where
        Tx: TransactionParam;
}

type DatabaseOf<Tx> = <Tx as TransactionParam>::Database;

/// The pool or connection on which a unit of work begins.
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
