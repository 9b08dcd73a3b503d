//! The units of work that the engine needs from a database beyond its connections.

use std::fmt;
use std::future::Future;

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool, Transaction};

use super::lapsed::{LapsedLease, LapsedSearch};
#[cfg(feature = "metrics")]
use super::session::TableSample;
use super::session::{
    AsSession, BodyWrites, ClaimOf, CommitError, FoundBy, NewRecord, Purgeable, RequestOf, Session,
    Written,
};
use crate::decision::Lookup;
use crate::values::error::Error;

/// A unit of work, and the finding of the claim in it.
pub(crate) type Opened<'c, DB> = (
    Transaction<'c, DB>,
    Result<FoundBy<<DB as Database>::Connection>, Error>,
);

/// The facts that a pool of this database knows of its connections.
pub(crate) type PoolTraitsOf<DB> = <<DB as Database>::Connection as Session>::PoolTraits;

/// Why a unit of work could not be opened.
#[doc(hidden)]
#[derive(Debug)]
pub enum NotOpened<A> {
    /// The call tries again from here; the unit of work that was begun is still to be ended.
    Again(A),
    /// Opening failed.
    Failed(Error),
}

impl<A> From<Error> for NotOpened<A> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The outcome of recording and committing.
#[doc(hidden)]
pub enum FinishOutcome<'c, DB: Backend> {
    /// Both are done.
    Committed,
    /// Another attempt's record is there. The transaction is still to be rolled back.
    Conflict(Transaction<'c, DB>),
    /// The record or COMMIT was refused. The transaction is still to be rolled back.
    Refused(Transaction<'c, DB>, Error),
    /// COMMIT was sent, or the connection is of no further use.
    Failed(CommitError),
}

/// A database on which handlers can be made idempotent. Sealed; implemented by sqlx's database
/// types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a database that idem supports, or its feature is off",
    note = "turn on the feature of idem-runtime that is named after the database: `postgres`, `mysql` or `sqlite`"
)]
pub trait Backend: Database<Connection: Session> {
    /// The facts that an attempt to open a unit of work has learnt, for its next step or for the next attempt
    /// of the same call.
    #[doc(hidden)]
    type Approach: fmt::Debug + Default + Send;

    /// Returns the facts that `pool` knows of its connections and that they cannot tell themselves.
    ///
    /// # Errors
    /// [`Error::Schema`] if its connections do not share one database.
    #[doc(hidden)]
    fn pool_traits(pool: &Pool<Self>) -> Result<PoolTraitsOf<Self>, Error>;

    /// Returns whether the database ends with the pool's connections (SQLite in memory), so that none of
    /// them may be closed.
    #[doc(hidden)]
    fn is_irreplaceable(pool_traits: &PoolTraitsOf<Self>) -> bool {
        let _ = pool_traits;
        false
    }

    /// Looks the record up before any transaction, if beginning one would wait for other keys, or if the last
    /// attempt has left the look-up to this one. Returns `None` if there is no need.
    #[doc(hidden)]
    fn look_up_before_begin(
        conn: &mut Self::Connection,
        request: &RequestOf<Self::Connection>,
        approach: &mut Self::Approach,
    ) -> impl Future<Output = Result<Option<Lookup>, Error>> + Send;

    /// Looks the record up for calls that wait for it, outside any transaction, and asks whether another attempt
    /// holds the key. It waits for no lock, and takes none that a claim could meet. If it finds the key free, that
    /// is no claim.
    #[doc(hidden)]
    fn look_for_waiters(
        conn: &mut Self::Connection,
        request: &RequestOf<Self::Connection>,
    ) -> impl Future<Output = Result<Lookup, Error>> + Send;

    /// Does the same for whoever asks what has become of the key, as often as he likes: it takes no lock either that a
    /// heartbeat could meet.
    #[doc(hidden)]
    fn look_for_status(
        conn: &mut Self::Connection,
        request: &RequestOf<Self::Connection>,
    ) -> impl Future<Output = Result<Lookup, Error>> + Send {
        Self::look_for_waiters(conn, request)
    }

    /// Begins a unit of work and claims in it, with a look-up under the lock. Returns the transaction even if
    /// claiming failed, for its owner to roll back.
    #[doc(hidden)]
    fn open<'c>(
        conn: &'c mut Self::Connection,
        request: &RequestOf<Self::Connection>,
    ) -> impl Future<Output = Result<Opened<'c, Self>, Error>> + Send;

    /// Begins a unit of work to run a body in, and claims in it. If an earlier look-up led to a decision, the
    /// decision was to run the body. With `may_discard` the body's writes may have to be rolled back alone.
    #[doc(hidden)]
    fn open_to_run<'c>(
        conn: &'c mut Self::Connection,
        request: &RequestOf<Self::Connection>,
        approach: Self::Approach,
        may_discard: bool,
    ) -> impl Future<Output = Result<Opened<'c, Self>, NotOpened<Self::Approach>>> + Send;

    /// Begins a unit of work without a claim, for a call without a key.
    #[doc(hidden)]
    fn open_plain(
        conn: &mut Self::Connection,
    ) -> impl Future<Output = Result<Transaction<'_, Self>, Error>> + Send;

    /// Sets a savepoint in the caller's transaction and claims in it.
    #[doc(hidden)]
    fn join<'c>(
        conn: &'c mut Self::Connection,
        request: &RequestOf<Self::Connection>,
    ) -> impl Future<Output = Result<Opened<'c, Self>, Error>> + Send;

    /// Sets a savepoint in the caller's transaction, for a call without a key.
    #[doc(hidden)]
    fn join_plain(
        conn: &mut Self::Connection,
    ) -> impl Future<Output = Result<Transaction<'_, Self>, Error>> + Send;

    /// Ends a transaction that a failed `open` left on the connection, or that was forgotten on a connection
    /// that may not be closed.
    #[doc(hidden)]
    fn clear(conn: &mut Self::Connection) -> impl Future<Output = ()> + Send;

    /// Makes sure, after a body that may have ended its transaction, that there is one to roll back if the
    /// driver counts on one. Returns `false` if the connection's answers are out of step: then nothing more is
    /// to be sent on it.
    #[doc(hidden)]
    fn reopen(tx: &mut Transaction<'_, Self>) -> impl Future<Output = bool> + Send;

    /// Returns whether a failed body has ended its transaction by itself, so that its writes may stand. Returns
    /// `false` also if that cannot be known: an aborted transaction answers nothing.
    ///
    /// # Errors
    /// [`Error::StatementUnfinished`] if the connection's answers are out of step.
    #[doc(hidden)]
    fn has_ended(
        tx: &mut Transaction<'_, Self>,
        claim: &ClaimOf<Self::Connection>,
    ) -> impl Future<Output = Result<bool, Error>> + Send {
        async {
            match tx.release_savepoint(claim, BodyWrites::Discard).await {
                Err(Error::TransactionEnded) => Ok(true),
                Err(error) if error.is_out_of_step() => Err(error),
                Ok(()) | Err(_) => Ok(false),
            }
        }
    }

    /// Checks, before COMMIT without a record, that there is a transaction to commit, if COMMIT does not report
    /// that itself.
    #[doc(hidden)]
    fn check_transaction(
        tx: &mut Transaction<'_, Self>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Returns whether [`Backend::finish`] sends the record of this claim and COMMIT in one message: an error
    /// then may be COMMIT's.
    #[doc(hidden)]
    fn finishes_in_one(claim: &ClaimOf<Self::Connection>) -> bool {
        let _ = claim;
        false
    }

    /// Writes the record and commits, after rolling back the body's writes with [`BodyWrites::Discard`].
    #[doc(hidden)]
    fn finish<'c>(
        tx: Transaction<'c, Self>,
        claim: &ClaimOf<Self::Connection>,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> impl Future<Output = FinishOutcome<'c, Self>> + Send {
        finish(tx, claim, record, body_writes)
    }

    /// Commits a unit of work begun by [`Backend::open`]. If COMMIT is refused, there is still a transaction to
    /// roll back, as the driver expects.
    #[doc(hidden)]
    fn end(tx: &mut Transaction<'_, Self>) -> impl Future<Output = Result<(), CommitError>> + Send;

    /// Commits as [`Backend::end`] does, and rolls back if that is refused.
    #[doc(hidden)]
    fn commit(
        mut tx: Transaction<'_, Self>,
    ) -> impl Future<Output = Result<(), CommitError>> + Send {
        async move {
            let ended = Self::end(&mut tx).await;
            if let Err(CommitError::RolledBack(_)) = ended {
                Self::reopen(&mut tx).await;
                // If the ROLLBACK fails, the end of the session rolls back.
                let _ = Self::roll_back(tx).await;
            }
            ended
        }
    }

    /// Returns whether, after a body, the connection still answers the statement that was sent, and not an
    /// earlier one. Drivers can lose count.
    #[doc(hidden)]
    fn is_in_sync(conn: &mut Self::Connection) -> impl Future<Output = bool> + Send {
        let _ = conn;
        async { true }
    }

    /// Ends the session of a connection that is out of step and another's to close.
    #[doc(hidden)]
    fn hang_up(conn: &mut Self::Connection) -> impl Future<Output = ()> + Send {
        let _ = conn;
        async {}
    }

    /// Rolls back a unit of work begun by [`Backend::open`] or [`Backend::open_plain`], or rolls back to the
    /// savepoint of one that was joined.
    #[doc(hidden)]
    fn roll_back(
        tx: Transaction<'_, Self>,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        tx.rollback()
    }

    /// Deletes one batch of a purge in its own transaction. Returns `None` if another node has the lead.
    #[doc(hidden)]
    fn sweep(
        conn: &mut Self::Connection,
        table: &str,
        purgeable: Purgeable,
        limit: u32,
    ) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// Returns leases that have lapsed under `on_lapse = "retry"`, in the order of their lapses, by one statement.
    #[doc(hidden)]
    fn lapsed(
        conn: &mut Self::Connection,
        search: &LapsedSearch<'_>,
    ) -> impl Future<Output = Result<Vec<LapsedLease>, Error>> + Send;

    /// Looks at the whole table, for its metrics: how many outcomes are unknown for longer than `unknown_for`
    /// microseconds, and how long the oldest record has outlived its retention.
    #[cfg(feature = "metrics")]
    #[doc(hidden)]
    fn sample(
        conn: &mut Self::Connection,
        table: &str,
        unknown_for: i64,
    ) -> impl Future<Output = Result<TableSample, Error>> + Send;

    /// Returns whether to try again shortly, because the database itself does not wait although it could.
    #[doc(hidden)]
    fn is_momentary(error: &Error) -> bool;

    /// Returns whether a refused record may have met another attempt's, though the error does not name the
    /// record's table.
    #[doc(hidden)]
    fn may_be_conflict(error: &Error) -> bool {
        let _ = error;
        false
    }

    /// Maps an error of a statement by its code.
    #[doc(hidden)]
    fn map_error(error: sqlx::Error) -> Error;
}

/// Writes the record as the last statement, after rolling back the body's writes if `body_writes` says so.
pub(crate) async fn write<S: Session>(
    conn: &mut S,
    claim: &ClaimOf<S>,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> Result<Written, Error> {
    conn.record(claim, record, body_writes).await
}

/// Writes the record, and then commits.
pub(super) async fn finish<'c, DB: Backend>(
    mut tx: Transaction<'c, DB>,
    claim: &ClaimOf<DB::Connection>,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> FinishOutcome<'c, DB> {
    match write(&mut *tx, claim, record, body_writes).await {
        // Nothing may come between this statement and COMMIT: COMMIT of an aborted transaction reports
        // success.
        Ok(Written::Done) => match DB::end(&mut tx).await {
            Ok(()) => FinishOutcome::Committed,
            Err(CommitError::RolledBack(error)) => FinishOutcome::Refused(tx, error),
            Err(error) => FinishOutcome::Failed(error),
        },
        Ok(Written::Conflict) => FinishOutcome::Conflict(tx),
        Err(error) => FinishOutcome::Refused(tx, error),
    }
}

impl<DB: Backend> AsSession for PoolConnection<DB> {
    type Session = DB::Connection;

    fn session(&mut self) -> &mut DB::Connection {
        self
    }
}

impl<DB: Backend> AsSession for Transaction<'_, DB> {
    type Session = DB::Connection;

    fn session(&mut self) -> &mut DB::Connection {
        self
    }
}
