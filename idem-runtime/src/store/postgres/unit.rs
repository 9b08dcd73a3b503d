//! Units of work on PostgreSQL: begin, join, mark, commit.

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Pool, Transaction};

use super::super::backend::Backend;
use super::super::session::{Ask, CommitError, Seen, Session as _};
use super::unbroken::Unbroken;
use super::{code, look, sql};
use crate::error::Error;
use crate::outcome::Lock;

impl Backend for Postgres {
    fn home(_: &Pool<Self>) -> Result<Option<String>, Error> {
        Ok(None)
    }

    async fn peek(_: &mut PgConnection, _: &Ask) -> Result<Option<Seen>, Error> {
        Ok(None)
    }

    async fn open<'c>(
        conn: &'c mut PgConnection,
        ask: &Ask,
    ) -> Result<(Transaction<'c, Self>, Seen), Error> {
        let mut tx = conn
            .begin_with(AssertSqlSafe(sql::begin(ask)))
            .await
            .map_err(code::fold_begin)?;
        let (mut seen, held) = look(&mut tx, ask).await?;
        seen.lock = match held.split_once(':') {
            Some((owner, attempt))
                if attempt.trim_end_matches(',') == ask.attempt_id.to_string() =>
            {
                if owner == "-" {
                    Lock::Refused
                } else {
                    Lock::Granted
                }
            }
            _ => {
                tx.rollback().await.map_err(code::fold)?;
                return Err(Error::AlreadyInTransaction);
            }
        };
        Ok((tx, seen))
    }

    async fn open_plain(conn: &mut PgConnection) -> Result<Transaction<'_, Self>, Error> {
        conn.begin_with(sql::BEGIN_PLAIN)
            .await
            .map_err(code::fold_begin)
    }

    async fn join<'c>(
        conn: &'c mut PgConnection,
        ask: Option<&Ask>,
    ) -> Result<(Transaction<'c, Self>, Option<Seen>), Error> {
        let mut tx = Unbroken::new(conn.begin()).await.map_err(code::fold)?;
        let seen = match ask {
            Some(ask) => Some(tx.claim(ask).await?),
            None => None,
        };
        Ok((tx, seen))
    }

    async fn clear(conn: &mut PgConnection) {
        if !conn.is_in_transaction() {
            // A warning where there is nothing to end; a dead link says so again to whoever uses it next.
            let _ = conn.execute("ROLLBACK").await;
        }
    }

    async fn commit(tx: Transaction<'_, Self>) -> Result<(), CommitError> {
        tx.commit().await.map_err(|error| {
            if code::is_ambiguous(&error) {
                return CommitError::Ambiguous(error);
            }
            CommitError::RolledBack(match code::fold(error) {
                Error::Database(error) => Error::CommitFailed(error),
                other => other,
            })
        })
    }

    fn is_momentary(_: &Error) -> bool {
        false
    }

    fn fold(error: sqlx::Error) -> Error {
        code::fold(error)
    }
}
