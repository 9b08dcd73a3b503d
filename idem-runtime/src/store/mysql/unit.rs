//! Units of work on MySQL and MariaDB: peek, begin, join, commit.

use sqlx::mysql::{MySql, MySqlConnection, MySqlTransactionManager};
use sqlx::{Connection as _, Executor as _, Pool, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, Opened};
use super::super::session::{Ask, CommitError, Home, Seen, Session as _, Spent};
use super::super::unbroken::Unbroken;
use super::{code, insert, peek, purge, sql, take};
use crate::error::Error;
use crate::fast_check;

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
        conn.begin_with(sql::BEGIN).await.map_err(code::fold)
    }

    async fn join<'c>(conn: &'c mut MySqlConnection, ask: &Ask) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::savepoint(conn).await?;
        let seen = tx.claim(ask).await;
        Ok((tx, seen))
    }

    async fn savepoint(conn: &mut MySqlConnection) -> Result<Transaction<'_, Self>, Error> {
        // Before the driver's own savepoint: where the server has no transaction that one fails
        // too, but by then the driver has forgotten the caller's.
        conn.execute(sql::PROVE).await.map_err(code::fold)?;
        Unbroken::new(conn.begin()).await.map_err(code::fold)
    }

    async fn clear(conn: &mut MySqlConnection) {
        if !conn.is_in_transaction() {
            // Nothing to end is no fault; a dead link says so again to whoever uses it next.
            let _ = conn.execute(sql::END).await;
        }
    }

    async fn reopen(tx: &mut Transaction<'_, Self>) {
        // A ROLLBACK outside any transaction succeeds. It leaves the locks of LOCK TABLES, with
        // which a body has ended its transaction, and a pool would go on holding them.
        if MySqlTransactionManager::get_transaction_depth(tx) == 1 {
            let _ = tx.execute(sql::LEAVE).await;
        }
    }

    async fn prove(tx: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // COMMIT of no transaction reports success.
        tx.execute(sql::PROVE).await.map_err(code::fold)?;
        Ok(())
    }

    async fn commit(tx: Transaction<'_, Self>) -> Result<(), CommitError> {
        tx.commit().await.map_err(|error| {
            if code::is_ambiguous(&error) {
                CommitError::Ambiguous(error)
            } else {
                CommitError::RolledBack(code::fold(error))
            }
        })
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
