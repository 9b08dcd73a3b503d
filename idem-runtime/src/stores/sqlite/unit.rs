//! Units of work on SQLite: look up, begin, join, commit.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection, SqliteTransactionManager};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Pool, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, NotOpened, Opened};
use super::super::session::{CommitError, Purgeable, Session as _};
use super::claim::{SqliteClaimRequest, SqlitePoolTraits};
use super::running::RunningKey;
use super::{enter, error, look_as_writer, look_at_file, sql};
use crate::decision::{Lock, Lookup};
use crate::values::error::{DatabaseError, Error, SchemaFault};

impl Backend for Sqlite {
    fn is_irreplaceable(pool_traits: &SqlitePoolTraits) -> bool {
        pool_traits.ends_with_connections
    }

    /// The entry that keeps other attempts of this process away.
    type Approach = Option<RunningKey>;

    fn pool_traits(pool: &Pool<Self>) -> Result<SqlitePoolTraits, Error> {
        let options = pool.connect_options();
        let name = options.get_filename();
        // Only a URL shows the mode, and not every file's name can be part of one (sqlx panics).
        let url = SqliteConnectOptions::clone(&options)
            .filename("any")
            .to_url_lossy();
        let says = |key: &str, value: &str| url.query_pairs().any(|(k, v)| k == key && v == value);
        let private = is_private_memory(&name.to_string_lossy());
        if !private && !says("mode", "memory") {
            return Ok(SqlitePoolTraits::default());
        }
        if !private && says("cache", "shared") {
            return Ok(SqlitePoolTraits {
                shared_memory: Some(name.to_string_lossy().into_owned()),
                ends_with_connections: true,
            });
        }
        let connections = pool.options().get_max_connections();
        if connections > 1 {
            Err(SchemaFault::MemoryPool { connections }.into())
        } else {
            Ok(SqlitePoolTraits {
                shared_memory: None,
                ends_with_connections: true,
            })
        }
    }

    async fn look_up_before_begin(
        conn: &mut SqliteConnection,
        request: &SqliteClaimRequest,
        approach: &mut Self::Approach,
    ) -> Result<Option<Lookup>, Error> {
        let (found, file) = look_at_file(conn, request).await?;
        let mut lookup = found.lookup;
        (lookup.lock, *approach) = enter(conn, request, file.as_ref()).await?;
        Ok(Some(lookup))
    }

    async fn open<'c>(
        conn: &'c mut SqliteConnection,
        request: &SqliteClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        // Not IMMEDIATE, which takes the write lock of every attached file as well: then nobody could tell
        // which of them was written.
        let mut tx = conn
            .begin_with(sql::BEGIN)
            .await
            .map_err(error::begin_error)?;
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
        let (tx, found) = Self::open(conn, request).await?;
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

    fn is_momentary(error: &Error) -> bool {
        matches!(error, Error::Busy(error) if error.code().is_some_and(|code| error::is_shared_cache_lock(&code)))
    }

    fn map_error(error: sqlx::Error) -> Error {
        error::map_error(error)
    }
}

/// Returns whether each connection reads the name as a database of its own (sqlite.org/inmemorydb.html,
/// sqlite.org/uri.html). A URI that shares a database in memory by name is refused with the rest: sqlx's own
/// `sqlite::memory:` is shared.
fn is_private_memory(name: &str) -> bool {
    let uri = name.strip_prefix("file:");
    let in_memory = |uri: &str| uri.starts_with(":memory:") || uri.contains("mode=memory");
    name.is_empty() || name == ":memory:" || uri.is_some_and(in_memory)
}
