//! What the engine asks of a database beyond its connections: units of work.

use std::future::Future;

use sqlx::{Database, Pool, Transaction};

use super::session::{Ask, CommitError, Home, Seen, Session};
use crate::error::Error;

/// A unit of work, and what claiming in it showed.
pub(super) type Opened<'c, DB> = (Transaction<'c, DB>, Result<Seen, Error>);

/// A database on which handlers can be made idempotent. Sealed; implemented by sqlx's database
/// types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a database that idem supports, or its feature is off",
    note = "turn on the feature of idem-runtime that is named after the database: `postgres`, `mysql` or `sqlite`"
)]
pub trait Backend: Database<Connection: Session> {
    /// What `pool` knows of its connections that they cannot tell themselves.
    ///
    /// # Errors
    /// [`Error::Schema`] if its connections do not share one database.
    #[doc(hidden)]
    fn home(pool: &Pool<Self>) -> Result<Home, Error>;

    /// A look before any transaction, where beginning one would wait for other keys.
    #[doc(hidden)]
    fn peek(
        conn: &mut Self::Connection,
        ask: &Ask,
    ) -> impl Future<Output = Result<Option<Seen>, Error>> + Send;

    /// Begins a unit of work and claims in it. The transaction comes back even if claiming failed,
    /// for its owner to roll back.
    #[doc(hidden)]
    fn open<'c>(
        conn: &'c mut Self::Connection,
        ask: &Ask,
    ) -> impl Future<Output = Result<Opened<'c, Self>, Error>> + Send;

    /// Begins a unit of work without a claim, for a call without a key.
    #[doc(hidden)]
    fn open_plain(
        conn: &mut Self::Connection,
    ) -> impl Future<Output = Result<Transaction<'_, Self>, Error>> + Send;

    /// Sets a savepoint in the caller's transaction and claims in it.
    #[doc(hidden)]
    fn join<'c>(
        conn: &'c mut Self::Connection,
        ask: &Ask,
    ) -> impl Future<Output = Result<Opened<'c, Self>, Error>> + Send;

    /// Sets a savepoint in the caller's transaction, for a call without a key.
    #[doc(hidden)]
    fn savepoint(
        conn: &mut Self::Connection,
    ) -> impl Future<Output = Result<Transaction<'_, Self>, Error>> + Send;

    /// Ends a transaction that a failed `open` left on the connection, or that was forgotten on one
    /// that may not be closed.
    #[doc(hidden)]
    fn clear(conn: &mut Self::Connection) -> impl Future<Output = ()> + Send;

    /// Makes sure that there is a transaction to roll back after a body that may have ended it,
    /// where the driver counts on one.
    #[doc(hidden)]
    fn reopen(tx: &mut Transaction<'_, Self>) -> impl Future<Output = ()> + Send;

    /// Before COMMIT without a record: that there is a transaction to commit, where COMMIT does not
    /// say so itself.
    #[doc(hidden)]
    fn prove(tx: &mut Transaction<'_, Self>) -> impl Future<Output = Result<(), Error>> + Send;

    /// COMMIT of a unit of work begun by [`Backend::open`].
    #[doc(hidden)]
    fn commit(tx: Transaction<'_, Self>) -> impl Future<Output = Result<(), CommitError>> + Send;

    /// One batch of a purge, in a transaction of its own; `None` if another node has the lead.
    #[doc(hidden)]
    fn sweep(
        conn: &mut Self::Connection,
        table: &str,
        limit: u32,
    ) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// Whether to try again shortly, because the database itself does not wait where it could.
    #[doc(hidden)]
    fn is_momentary(error: &Error) -> bool;

    /// An error of a statement, folded by its code.
    #[doc(hidden)]
    fn fold(error: sqlx::Error) -> Error;
}
