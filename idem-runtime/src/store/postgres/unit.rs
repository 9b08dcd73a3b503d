//! Units of work on PostgreSQL: begin, join, mark, commit.

use sqlx::postgres::{PgConnection, PgTransactionManager, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Pool, Row as _, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, Fresh, Opened, Sealed, seal};
use super::super::session::{
    Ask, CommitError, Declined, Entry, Held, Home, Seen, Session as _, Spent,
};
use super::super::unbroken::Unbroken;
use super::{code, fused, home, look, purge, sql, step};
use crate::error::Error;
use crate::outcome::Lock;

impl Backend for Postgres {
    fn home(pool: &Pool<Self>) -> Result<Home, Error> {
        Ok(home::of(&pool.connect_options()))
    }

    async fn peek(conn: &mut PgConnection, ask: &Ask) -> Result<Option<Seen>, Error> {
        match ask.declined {
            Some(Declined::Recorded | Declined::InFlight) => fused::look(conn, ask).await,
            Some(Declined::Unprepared) => fused::prepare(conn, &ask.table).await.map(|()| None),
            Some(Declined::Unfit) | None => Ok(None),
        }
    }

    async fn open_fresh<'c>(
        conn: &'c mut PgConnection,
        ask: &Ask,
        undo: bool,
    ) -> Result<Fresh<'c, Self>, Result<Declined, Error>> {
        fused::open(conn, ask, undo).await
    }

    async fn open<'c>(conn: &'c mut PgConnection, ask: &Ask) -> Result<Opened<'c, Self>, Error> {
        let mut tx = conn
            .begin_with(AssertSqlSafe(sql::begin(ask)))
            .await
            .map_err(code::fold_begin)?;
        let seen = look(&mut tx, ask).await.and_then(|(mut seen, held)| {
            seen.lock = lock_answer(&held, ask).ok_or(Error::AlreadyInTransaction)?;
            Ok(seen)
        });
        Ok((tx, seen))
    }

    async fn open_plain(conn: &mut PgConnection) -> Result<Transaction<'_, Self>, Error> {
        conn.begin_with(AssertSqlSafe(sql::begin_plain()))
            .await
            .map_err(code::fold_begin)
    }

    async fn join<'c>(conn: &'c mut PgConnection, ask: &Ask) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::savepoint(conn).await?;
        let seen = tx.claim(ask).await;
        Ok((tx, seen))
    }

    async fn savepoint(conn: &mut PgConnection) -> Result<Transaction<'_, Self>, Error> {
        Unbroken::new(conn.begin()).await.map_err(code::fold)
    }

    async fn clear(conn: &mut PgConnection) {
        if !conn.is_in_transaction() {
            // A warning where there is nothing to end; a dead link says so again to whoever uses it
            // next.
            let _ = conn.execute("ROLLBACK").await;
        }
    }

    async fn reopen(_: &mut Transaction<'_, Self>) -> bool {
        // A ROLLBACK outside any transaction succeeds, with a warning.
        true
    }

    async fn has_ended(tx: &mut Transaction<'_, Self>, held: &Held) -> Result<bool, Error> {
        let (asked, ended) = sql::ended(&held.ask);
        let answer = tx.fetch_optional(sqlx::raw_sql(AssertSqlSafe(asked))).await;
        // Of a connection that is out of step, this is another statement's answer.
        Ok(matches!(answer, Ok(Some(row)) if row.try_get(0).is_ok_and(|said: &str| said == ended)))
    }

    async fn prove(tx: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // COMMIT of an aborted transaction, and of none, reports success. A savepoint is refused in
        // either.
        tx.execute("SAVEPOINT idem_end").await.map_err(code::fold)?;
        match step::is_in_step(tx).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(code::fold(code::out_of_step())),
            Err(error) => Err(code::fold(error)),
        }
    }

    async fn is_in_step(conn: &mut PgConnection) -> bool {
        // What a dead link does not answer, nobody reads later.
        step::is_in_step(conn).await.unwrap_or(true)
    }

    async fn hang_up(conn: &mut PgConnection) {
        step::hang_up(conn).await;
    }

    async fn seal<'c>(
        tx: Transaction<'c, Self>,
        held: &Held,
        entry: &Entry<'_>,
        undo: bool,
    ) -> Sealed<'c, Self> {
        if held.fused {
            return fused::seal(tx, held, entry, undo).await;
        }
        seal(tx, held, entry, undo).await
    }

    async fn end(tx: &mut Transaction<'_, Self>) -> Result<(), CommitError> {
        let Err(error) = PgTransactionManager::commit(tx).await else {
            return Ok(());
        };
        if code::is_ambiguous(&error) {
            return Err(CommitError::Ambiguous(error));
        }
        begin_again(tx).await;
        Err(CommitError::RolledBack(code::fold_commit(error)))
    }

    async fn sweep(
        conn: &mut PgConnection,
        table: &str,
        spent: Spent,
        limit: u32,
    ) -> Result<Option<u64>, Error> {
        purge::leading(conn, table, spent, limit).await
    }

    fn is_momentary(error: &Error) -> bool {
        // A lease's claim takes another connection, or this one with its statements prepared anew.
        matches!(error, Error::StatementsLost(_))
    }

    fn may_be_rivals(error: &Error) -> bool {
        matches!(error, Error::Database(error) if code::may_be_our_conflict(error.as_sqlx()))
    }

    fn fold(error: sqlx::Error) -> Error {
        code::fold(error)
    }
}

/// After a COMMIT that was refused: begins an empty transaction, for the driver still counts on one and
/// will end it. ROLLBACK of none would be answered by a warning. When this is answered, the refused one
/// has let go of its locks.
pub(super) async fn begin_again(tx: &mut Transaction<'_, Postgres>) {
    // A link that fails here fails the ROLLBACK as well.
    let _ = tx.execute("BEGIN").await;
}

/// What came of the lock, by the setting that the BEGIN batch made; `None` if it made none.
pub(super) fn lock_answer(held: &str, ask: &Ask) -> Option<Lock> {
    let (owner, attempt) = held.split_once(':')?;
    if attempt.trim_end_matches(',') != ask.attempt_id.to_string() {
        return None;
    }
    Some(if owner == "-" {
        Lock::Refused
    } else {
        Lock::Granted
    })
}
