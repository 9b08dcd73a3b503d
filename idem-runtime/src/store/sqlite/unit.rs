//! Units of work on SQLite: peek, begin, join, commit.

use std::time::Duration;

use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Pool, Transaction};
use tokio::time::Instant;

use super::super::backend::{Backend, Opened};
use super::super::session::{Ask, CommitError, Seen, Session as _};
use super::{code, enter, look};
use crate::error::{Error, SchemaFault};
use crate::outcome::Lock;

/// How long a COMMIT that meets readers (rollback journal) or sharers (shared cache) is tried again: 5 seconds, and
/// each try waits for the driver's own busy timeout.
const COMMIT_WITHIN: Duration = Duration::from_secs(5);

impl Backend for Sqlite {
    fn home(pool: &Pool<Self>) -> Result<Option<String>, Error> {
        let options = pool.connect_options();
        let name = options.get_filename();
        let url = options.to_url_lossy();
        let says = |key: &str, value: &str| url.query_pairs().any(|(k, v)| k == key && v == value);
        let private = name.as_os_str() == ":memory:";
        if !private && !says("mode", "memory") {
            return Ok(None);
        }
        if !private && says("cache", "shared") {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
        let connections = pool.options().get_max_connections();
        if connections > 1 {
            Err(SchemaFault::MemoryPool { connections }.into())
        } else {
            Ok(None)
        }
    }

    async fn peek(conn: &mut SqliteConnection, ask: &Ask) -> Result<Option<Seen>, Error> {
        let mut seen = look(conn, ask).await?;
        (seen.lock, seen.running) = enter(conn, ask, seen.home.as_ref()).await?;
        Ok(Some(seen))
    }

    async fn open<'c>(
        conn: &'c mut SqliteConnection,
        ask: &Ask,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = conn
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(code::fold_begin)?;
        // The write lock is ours: nobody's record can appear from here to COMMIT.
        let seen = look(&mut tx, ask).await.map(|seen| Seen {
            lock: Lock::Granted,
            ..seen
        });
        Ok((tx, seen))
    }

    async fn open_plain(conn: &mut SqliteConnection) -> Result<Transaction<'_, Self>, Error> {
        conn.begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(code::fold_begin)
    }

    async fn join<'c>(
        conn: &'c mut SqliteConnection,
        ask: &Ask,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = conn.begin().await.map_err(code::fold_witness)?;
        let seen = tx.claim(ask).await;
        Ok((tx, seen))
    }

    async fn clear(_: &mut SqliteConnection) {
        // A BEGIN that failed began nothing, and what was open before is the caller's.
    }

    async fn commit(mut tx: Transaction<'_, Self>) -> Result<(), CommitError> {
        let deadline = Instant::now() + COMMIT_WITHIN;
        loop {
            // With a new, empty transaction behind it, so that the driver's count of transactions stays right whatever
            // came of COMMIT: `tx` has something to roll back in every case.
            let Err(error) = tx.execute(sqlx::raw_sql("COMMIT; BEGIN")).await else {
                let _ = tx.rollback().await;
                return Ok(());
            };
            if code::is_busy(&error) && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            let refusal: fn(crate::error::DatabaseError) -> Error = if code::is_busy(&error) {
                Error::Busy
            } else if code::is_constraint(&error) {
                Error::CommitFailed
            } else {
                let _ = tx.rollback().await;
                return Err(CommitError::Ambiguous(error));
            };
            return Err(match tx.rollback().await {
                Ok(()) => CommitError::RolledBack(refusal(error.into())),
                Err(error) => CommitError::Ambiguous(error),
            });
        }
    }

    async fn sweep(
        conn: &mut SqliteConnection,
        table: &str,
        limit: u32,
    ) -> Result<Option<u64>, Error> {
        // One statement, and so one transaction: the write lock is the lead.
        match conn.purge(table, limit).await {
            Ok(rows) => Ok(Some(rows)),
            Err(Error::Busy(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_momentary(error: &Error) -> bool {
        matches!(error, Error::Busy(error) if error.code().is_some_and(|code| code::is_shared_cache_lock(&code)))
    }

    fn fold(error: sqlx::Error) -> Error {
        code::fold(error)
    }
}
