//! Units of work on SQLite: look up, begin, join, commit.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteTransactionManager};
use sqlx::{Connection as _, Executor as _, Pool, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{self, Backend, FinishOutcome, NotOpened, Opened};
use super::super::lapsed::{LapsedLease, LapsedSearch};
#[cfg(feature = "metrics")]
use super::super::session::TableSample;
use super::super::session::{BodyWrites, CommitError, NewRecord, Purgeable, Session as _, Written};
use super::claim::{Savepoint, SqliteClaimRequest, SqliteHeldClaim, SqlitePoolTraits};
use super::enter::{enter_borrowed, is_running};
use super::pool_file::PoolFile;
use super::running::RunningKey;
#[cfg(feature = "metrics")]
use super::sample;
use super::{error, file, lapsed, look, look_as_writer, look_at_file, messages, pool_traits, sql};
use crate::decision::{Lock, Lookup};
use crate::values::error::{DatabaseError, Error};

impl Backend for Sqlite {
    fn is_irreplaceable(pool_traits: &SqlitePoolTraits) -> bool {
        pool_traits.ends_with_connections
    }

    /// The entry that keeps other attempts of this process away.
    type Approach = Option<RunningKey>;

    fn pool_traits(pool: &Pool<Self>) -> Result<SqlitePoolTraits, Error> {
        pool_traits::of(pool)
    }

    async fn look_up_before_begin(
        conn: &mut SqliteConnection,
        request: &SqliteClaimRequest,
        approach: &mut Self::Approach,
    ) -> Result<Option<Lookup>, Error> {
        let Some(file) = named_file(conn, request).await? else {
            let (found, path) = Box::pin(look_at_file(conn, request)).await?;
            let mut lookup = found.lookup;
            (lookup.lock, *approach) = enter_borrowed(conn, request, path.as_ref()).await?;
            return Ok(Some(lookup));
        };
        let probed = messages::probe(conn, request, file).await?;
        let (lock, running) = enter_borrowed(conn, request, file.known_path()).await?;
        *approach = running;
        let mut lookup = match probed {
            // The claim looks again.
            None if lock == Lock::Granted => return Ok(None),
            None => Box::pin(look(conn, request)).await?.lookup,
            Some(lookup) => lookup,
        };
        lookup.lock = lock;
        Ok(Some(lookup))
    }

    async fn look_for_waiters(
        conn: &mut SqliteConnection,
        request: &SqliteClaimRequest,
    ) -> Result<Lookup, Error> {
        let (found, path) = look_at_file(conn, request).await?;
        let mut lookup = found.lookup;
        if is_running(request, path.as_ref()) {
            lookup.lock = Lock::Refused;
        }
        Ok(lookup)
    }

    async fn open<'c>(
        conn: &'c mut SqliteConnection,
        request: &SqliteClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = begin(conn).await?;
        let found = look_as_writer(&mut tx, request).await.map(|mut found| {
            found.lookup.lock = Lock::Granted;
            found
        });
        Ok((tx, found))
    }

    async fn open_to_run<'c>(
        conn: &'c mut SqliteConnection,
        request: &SqliteClaimRequest,
        running: Self::Approach,
        _: bool,
    ) -> Result<Opened<'c, Self>, NotOpened<Self::Approach>> {
        let (tx, found) = match named_file(conn, request).await? {
            None => Box::pin(Self::open(conn, request)).await?,
            Some(file) => {
                let mut tx = begin(conn).await?;
                let found = Box::pin(messages::claim(&mut tx, request, file)).await;
                (tx, found)
            }
        };
        let found = found.map(|mut found| {
            found.claim.dialect.running = running;
            found
        });
        Ok((tx, found))
    }

    async fn open_plain(conn: &mut SqliteConnection) -> Result<Transaction<'_, Self>, Error> {
        conn.begin_with(sql::BEGIN_TO_WRITE)
            .await
            .map_err(error::begin_error)
    }

    async fn join<'c>(
        conn: &'c mut SqliteConnection,
        request: &SqliteClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::join_plain(conn).await?;
        let found = tx.claim(request).await;
        Ok((tx, found))
    }

    async fn join_plain(conn: &mut SqliteConnection) -> Result<Transaction<'_, Self>, Error> {
        // If a `begin` is dropped half-way inside a transaction, sqlx 0.9 sends one ROLLBACK too many. It rolls
        // back the caller's transaction, whose COMMIT then succeeds with nothing. So this future is polled
        // until the savepoint is set, without returning `Pending`. The savepoint takes no lock, and the ping has
        // emptied the queue before it.
        conn.ping().await.map_err(error::map_error)?;
        let mut begin = pin!(conn.begin());
        poll_fn(|context| {
            loop {
                if let Poll::Ready(begun) = begin.as_mut().poll(context) {
                    return Poll::Ready(begun.map_err(error::savepoint_error));
                }
                std::thread::yield_now();
            }
        })
        .await
    }

    async fn clear(conn: &mut SqliteConnection) {
        // A BEGIN that failed began nothing, and a transaction that the driver does not count is the caller's.
        // The driver may already be ending one that it counts: the ping waits for that.
        let _ = conn.ping().await;
        while conn.is_in_transaction() {
            // Fails, and does nothing, inside the transaction that should be there.
            let _ = conn.execute(sql::BEGIN).await;
            if SqliteTransactionManager::rollback(conn).await.is_err() {
                return;
            }
        }
    }

    async fn reopen(tx: &mut Transaction<'_, Self>) -> bool {
        // Fails, and does nothing, inside the transaction that should be there.
        let _ = tx.execute(sql::BEGIN).await;
        true
    }

    async fn check_transaction(_: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // A failed statement does not abort a transaction, and COMMIT without a transaction fails.
        Ok(())
    }

    async fn finish<'c>(
        mut tx: Transaction<'c, Self>,
        claim: &SqliteHeldClaim,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> FinishOutcome<'c, Self> {
        if let Savepoint::OfAttempt = claim.dialect.savepoint {
            return Box::pin(backend::finish(tx, claim, record, body_writes)).await;
        }
        match Box::pin(messages::record(&mut tx, claim, record, body_writes)).await {
            Ok(Written::Done) => match Self::end(&mut tx).await {
                Ok(()) => FinishOutcome::Committed,
                Err(CommitError::RolledBack(error)) => FinishOutcome::Refused(tx, error),
                Err(error) => FinishOutcome::Failed(error),
            },
            Ok(Written::Conflict) => FinishOutcome::Conflict(tx),
            Err(error) => FinishOutcome::Refused(tx, error),
        }
    }

    async fn end(tx: &mut Transaction<'_, Self>) -> Result<(), CommitError> {
        // The driver's busy handler waits for readers (rollback journal). Only the driver's COMMIT keeps its
        // count of transactions right wherever this future is dropped.
        SqliteTransactionManager::commit(tx).await.map_err(|error| {
            let refusal: fn(DatabaseError) -> Error = if error::is_busy(&error) {
                Error::Busy
            } else if error::is_constraint(&error) {
                Error::CommitFailed
            } else if error::is_plain_error(&error) {
                return CommitError::RolledBack(Error::TransactionEnded);
            } else {
                return CommitError::Ambiguous(error);
            };
            CommitError::RolledBack(refusal(error.into()))
        })
    }

    async fn sweep(
        conn: &mut SqliteConnection,
        table: &str,
        purgeable: Purgeable,
        limit: u32,
    ) -> Result<Option<u64>, Error> {
        // One statement is one transaction: the write lock is the lead.
        match conn.purge(table, purgeable, limit).await {
            Ok(rows) => Ok(Some(rows)),
            Err(Error::Busy(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn lapsed(
        conn: &mut SqliteConnection,
        search: &LapsedSearch<'_>,
    ) -> Result<Vec<LapsedLease>, Error> {
        lapsed::lapsed(conn, search).await
    }

    #[cfg(feature = "metrics")]
    async fn sample(
        conn: &mut SqliteConnection,
        table: &str,
        unknown_for: i64,
    ) -> Result<TableSample, Error> {
        sample::sample(conn, table, unknown_for).await
    }

    fn is_momentary(error: &Error) -> bool {
        matches!(error, Error::Busy(error) if error.code().is_some_and(|code| error::is_shared_cache_lock(&code)))
    }

    fn map_error(error: sqlx::Error) -> Error {
        error::map_error(error)
    }
}

/// Begins the library's own unit of work. Not IMMEDIATE, which takes the write lock of every attached file as well:
/// then nobody could tell which of them was written.
async fn begin(conn: &mut SqliteConnection) -> Result<Transaction<'_, Sqlite>, Error> {
    conn.begin_with(sql::BEGIN)
        .await
        .map_err(error::begin_error)
}

/// Returns the file of the request's pool with its path, which the first call asks for. Returns `None` for a
/// connection of the caller's, for a database that has no file, and for a table in an attached one.
async fn named_file<'r>(
    conn: &mut SqliteConnection,
    request: &'r SqliteClaimRequest,
) -> Result<Option<&'r PoolFile>, Error> {
    let Some(pool_file) = request.pool_traits.file.as_deref() else {
        return Ok(None);
    };
    if !sql::is_main(&request.table) {
        return Ok(None);
    }
    if pool_file.known_path().is_none() {
        match Box::pin(file(conn, &request.table)).await? {
            None => return Ok(None),
            Some(path) => pool_file.learn(path),
        };
    }
    Ok(Some(pool_file))
}
