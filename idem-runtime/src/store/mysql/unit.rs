//! Units of work on MySQL and MariaDB: peek, begin, join, commit.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sqlx::mysql::{MySql, MySqlConnection, MySqlTransactionManager};
use sqlx::{Connection as _, Executor as _, Pool, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, Opened};
use super::super::session::{Ask, CommitError, Held, Home, Seen, Session as _, Spent};
use super::super::unbroken::Unbroken;
use super::{code, insert, peek, purge, sql, step, take};
use crate::error::Error;
use crate::fast_check;

/// Whether any session was met whose `completion_type` is not the default: only then is it worth a
/// statement to restore it after a unit of work.
static RESTORES: AtomicBool = AtomicBool::new(false);

impl Backend for MySql {
    fn home(_: &Pool<Self>) -> Result<Home, Error> {
        Ok(Home::default())
    }

    async fn peek(conn: &mut MySqlConnection, ask: &Ask) -> Result<Option<Seen>, Error> {
        if fast_check::is_on() {
            peek(conn, ask).await
        } else {
            Ok(None)
        }
    }

    async fn open<'c>(conn: &'c mut MySqlConnection, ask: &Ask) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::open_plain(conn).await?;
        let seen = if ask.met {
            take(&mut tx, ask).await
        } else {
            insert(&mut tx, ask).await
        };
        Ok((tx, seen))
    }

    async fn open_plain(conn: &mut MySqlConnection) -> Result<Transaction<'_, Self>, Error> {
        let text = if RESTORES.load(Relaxed) {
            sql::BEGIN_ANYHOW
        } else {
            sql::BEGIN
        };
        conn.begin_with(text).await.map_err(|error| {
            if code::is_wrong_value(&error) {
                restore_from_now_on();
            }
            code::fold(error)
        })
    }

    async fn join<'c>(conn: &'c mut MySqlConnection, ask: &Ask) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::savepoint(conn).await?;
        let seen = tx.claim(ask).await;
        Ok((tx, seen))
    }

    async fn savepoint(conn: &mut MySqlConnection) -> Result<Transaction<'_, Self>, Error> {
        // Before the driver's own savepoint: where the server has no transaction that one fails
        // too, but by then the driver has forgotten the caller's.
        prove(conn).await?;
        Unbroken::new(conn.begin()).await.map_err(code::fold)
    }

    async fn clear(conn: &mut MySqlConnection) {
        if !conn.is_in_transaction() {
            // Nothing to end is no fault; a dead link says so again to whoever uses it next.
            let _ = conn.execute(sql::END).await;
            if RESTORES.load(Relaxed) {
                restore(conn).await;
            }
        }
    }

    async fn reopen(tx: &mut Transaction<'_, Self>) -> bool {
        // A ROLLBACK outside any transaction succeeds. It leaves the locks of LOCK TABLES, with
        // which a body has ended its transaction, and a pool would go on holding them.
        let ends = if MySqlTransactionManager::get_transaction_depth(tx) == 1 {
            sql::LEAVE
        } else {
            sql::NOTHING
        };
        let sent = step::send(tx, ends).await;
        !sent.is_err_and(|error| step::is_lost(&error))
    }

    async fn has_ended(tx: &mut Transaction<'_, Self>, held: &Held) -> Result<bool, Error> {
        match tx.unmark(held, true).await {
            // Without a placeholder nothing tells what was committed from what a deadlock has rolled back.
            Err(Error::TransactionEnded) => Ok(held.placeholder),
            Err(unfinished @ Error::StatementUnfinished(_)) => Err(unfinished),
            Ok(()) | Err(_) => Ok(false),
        }
    }

    async fn prove(tx: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // COMMIT of no transaction reports success.
        prove(tx).await
    }

    async fn hang_up(conn: &mut MySqlConnection) {
        step::hang_up(conn).await;
    }

    async fn end(tx: &mut Transaction<'_, Self>) -> Result<(), CommitError> {
        let restores = restores(tx);
        MySqlTransactionManager::commit(tx).await.map_err(|error| {
            if code::is_ambiguous(&error) {
                CommitError::Ambiguous(error)
            } else {
                CommitError::RolledBack(code::fold(error))
            }
        })?;
        if restores {
            restore(tx).await;
        }
        Ok(())
    }

    async fn roll_back(tx: Transaction<'_, Self>) -> Result<(), sqlx::Error> {
        let mut tx = tx;
        if !restores(&tx) {
            return tx.rollback().await;
        }
        MySqlTransactionManager::rollback(&mut tx).await?;
        restore(&mut tx).await;
        Ok(())
    }

    async fn sweep(
        conn: &mut MySqlConnection,
        table: &str,
        spent: Spent,
        limit: u32,
    ) -> Result<Option<u64>, Error> {
        purge::leading(conn, table, spent, limit).await
    }

    fn is_momentary(error: &Error) -> bool {
        code::is_momentary(error)
    }

    fn fold(error: sqlx::Error) -> Error {
        code::fold(error)
    }
}

/// Proves that a transaction is open, and that the connection answers what it is asked.
async fn prove(conn: &mut MySqlConnection) -> Result<(), Error> {
    step::send(conn, sql::PROVE).await.map_err(|error| {
        if step::is_lost(&error) {
            Error::StatementUnfinished(error.into())
        } else {
            code::fold(error)
        }
    })
}

/// A session was met whose `completion_type` is not the default.
pub(super) fn restore_from_now_on() {
    RESTORES.store(true, Relaxed);
}

/// Whether the session is to be restored after this transaction: not after a savepoint, in which nothing
/// was set.
fn restores(tx: &Transaction<'_, MySql>) -> bool {
    RESTORES.load(Relaxed) && MySqlTransactionManager::get_transaction_depth(tx) == 1
}

async fn restore(conn: &mut MySqlConnection) {
    // What cannot be restored is a session that is over.
    let _ = conn.execute(sql::RESTORE).await;
}
