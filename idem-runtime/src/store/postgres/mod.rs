//! PostgreSQL: an advisory lock to be quick, one INSERT at the end to be right.
//!
//! Between BEGIN and COMMIT the library writes one row and nothing else. Order of a fresh run:
//! BEGIN, setting and lock in one batch; look-up, in a snapshot taken after the lock; body; INSERT
//! under the witness; COMMIT. `fused` does the same in fewer messages.
//!
//! The **witness** is the setting `idem.held`: local to the transaction, so it reverts with the
//! transaction or the savepoint exactly as the lock does. It lists `mark:attempt` for each claim;
//! an INSERT that does not find its own attempt there writes nothing.

mod code;
mod create;
mod fused;
mod home;
mod lease;
mod purge;
mod row;
pub(crate) mod sql;
mod statement;
mod step;
mod unit;
mod verify;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use self::statement::Statement;
use super::session::{Ask, Entry, Held, Seen, Session, Spent, Written, sealed::Sealed};
use crate::error::{Error, SchemaFinding};
use crate::fingerprint::FINGERPRINT_VERSION;
use crate::outcome::Lock;
use crate::record::{AttemptId, CODEC_JSON};

impl Sealed for PgConnection {}

impl Session for PgConnection {
    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, ask: &Ask) -> Result<Seen, Error> {
        let named = keeps_statements(self, ask);
        let answer: String = Statement::new(sql::join(), named)
            .bind(ask.mark.to_string())
            .bind(ask.attempt_id.to_string())
            .bind(ask.mark.lock_number())
            .fetch_one(&mut *self)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(code::fold)?;
        let (mut seen, held) = look(self, ask).await?;
        seen.lock = match answer.as_str() {
            "nested" => Lock::Nested,
            "refused" => Lock::Refused,
            _ if held.contains(&ask.attempt_id.to_string()) => Lock::Granted,
            // A setting local to the transaction that is gone by the next statement: there was no
            // transaction.
            _ => Lock::NoTransaction,
        };
        Ok(seen)
    }

    async fn look_up(&mut self, ask: &Ask) -> Result<Seen, Error> {
        look(self, ask).await.map(|(seen, _)| seen)
    }

    async fn verify(&mut self, held: &Held) -> Result<(), Error> {
        verify::table(self, &held.ask.table, held.place).await
    }

    async fn findings(&mut self, held: &Held) -> Result<Vec<SchemaFinding>, Error> {
        verify::findings(self, &held.ask.table, held.place).await
    }

    async fn mark(&mut self, held: &Held, undo: bool) -> Result<(), Error> {
        // The witness is the setting; a savepoint is only needed where the body's writes may be
        // undone alone.
        if undo {
            self.execute_own(format!("SAVEPOINT {}", held.ask.savepoint()))
                .await
        } else {
            Ok(())
        }
    }

    async fn unmark(&mut self, held: &Held, undo: bool) -> Result<(), Error> {
        if undo {
            self.execute_own(format!("ROLLBACK TO SAVEPOINT {}", held.ask.savepoint()))
                .await
        } else {
            Ok(())
        }
    }

    async fn write(&mut self, held: &Held, entry: &Entry<'_>) -> Result<Written, Error> {
        let ask = &held.ask;
        let named = keeps_statements(self, ask);
        let replaces = entry.replaces.is_some();
        let rows = Statement::new(sql::write(&ask.table, replaces), named)
            .bind(ask.attempt_id.to_string())
            .bind(held.place)
            .bind(ask.attempt_id.as_uuid())
            .bind(entry.attempt)
            .bind(entry.status.code())
            .bind(FINGERPRINT_VERSION)
            .bind(CODEC_JSON)
            .bind(ask.identity.namespace())
            .bind(ask.identity.scope().as_str())
            .bind(ask.identity.key().as_str())
            .bind(entry.operation)
            .bind(
                entry
                    .fingerprint
                    .as_ref()
                    .map(|hash| hash.as_bytes().as_slice()),
            )
            .bind(entry.request)
            .bind(entry.result)
            .bind(entry.failure)
            .bind(entry.retention)
            .bind(entry.replaces.map(AttemptId::as_uuid))
            .fetch_all(&mut *self)
            .await;
        let written = rows.and_then(|rows| match &*rows {
            [] => Ok(false),
            [row] if row.try_get(0).ok() == Some(ask.attempt_id.as_uuid()) => Ok(true),
            _ => Err(code::out_of_step()),
        });
        match written {
            Ok(true) => Ok(Written::Done),
            Ok(false) => self.why_no_row(held, entry).await,
            Err(error) if code::is_our_conflict(&error, &ask.table) => Ok(Written::Rival),
            Err(error) => {
                let privilege = if replaces {
                    "SELECT, INSERT, UPDATE"
                } else {
                    "INSERT"
                };
                match code::fold_write(error, &ask.table, privilege) {
                    // What is refused so is refused before the witness is asked.
                    Error::TableMoved { .. } | Error::PermissionDenied { .. }
                        if !self.is_aborted().await =>
                    {
                        Err(Error::TransactionEnded)
                    }
                    refusal => Err(refusal),
                }
            }
        }
    }

    async fn release(&mut self, held: Held) -> Result<(), Error> {
        let claim = format!("{}:{},", held.ask.mark, held.ask.attempt_id);
        let named = keeps_statements(self, &held.ask);
        let held: bool = Statement::new(sql::release(), named)
            .bind(claim)
            .fetch_one(self)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(code::fold)?;
        if held {
            Ok(())
        } else {
            Err(Error::TransactionEnded)
        }
    }

    async fn purge(&mut self, table: &str, spent: Spent, limit: u32) -> Result<u64, Error> {
        purge::batch(self, table, spent, limit).await
    }
}

/// What the methods of [`Session`] share.
trait Own {
    async fn execute_own(&mut self, statement: String) -> Result<(), Error>;
    async fn is_aborted(&mut self) -> bool;
    async fn why_no_row(&mut self, held: &Held, entry: &Entry<'_>) -> Result<Written, Error>;
}

impl Own for PgConnection {
    async fn execute_own(&mut self, statement: String) -> Result<(), Error> {
        self.execute(AssertSqlSafe(statement))
            .await
            .map_err(code::fold)?;
        Ok(())
    }

    /// Returns whether a transaction is open that a failed statement has aborted, as it does any.
    async fn is_aborted(&mut self) -> bool {
        self.execute("SELECT 1").await.is_err()
    }

    /// The INSERT wrote nothing and failed at nothing: the witness, another table, a rival's newer
    /// record, or a trigger.
    async fn why_no_row(&mut self, held: &Held, entry: &Entry<'_>) -> Result<Written, Error> {
        let table = &held.ask.table;
        let row = Statement::new(sql::witness(table), false)
            .bind(held.ask.attempt_id.to_string())
            .bind(held.place)
            .fetch_one(self)
            .await
            .map_err(|error| code::fold_write(error, table, "INSERT"))?;
        let ours: bool = row.try_get(0).map_err(code::fold)?;
        let in_place: bool = row.try_get(1).map_err(code::fold)?;
        match (ours, in_place, entry.replaces) {
            (false, ..) => Err(Error::TransactionEnded),
            (true, false, _) => Err(code::moved(table)),
            (true, true, Some(_)) => Ok(Written::Rival),
            (true, true, None) => Err(Error::RecordNotWritten),
        }
    }
}

/// Whether the connection's prepared statements are kept, and may have names. A pool knows; of a
/// borrowed connection one that has kept none so far is not asked to begin with ours: sqlx would
/// name them even with its cache off, and a pooler would mix the names up (sqlx #67).
fn keeps_statements(conn: &PgConnection, ask: &Ask) -> bool {
    ask.home
        .keeps_statements
        .unwrap_or_else(|| conn.cached_statements_size() > 0)
}

/// The look-up, and the claims held in this transaction.
async fn look(conn: &mut PgConnection, ask: &Ask) -> Result<(Seen, String), Error> {
    match look_once(conn, ask).await {
        // Outside a transaction nothing is lost by it, and the statement is prepared anew.
        Err(lost @ Error::StatementsLost(_)) if !conn.is_in_transaction() => {
            match look_once(conn, ask).await {
                // There was one that sqlx does not know of.
                Err(Error::TransactionAborted) => Err(lost),
                again => again,
            }
        }
        seen => seen,
    }
}

async fn look_once(conn: &mut PgConnection, ask: &Ask) -> Result<(Seen, String), Error> {
    let named = keeps_statements(conn, ask);
    let row = Statement::new(sql::look_up(&ask.table), named)
        .bind(ask.identity.namespace())
        .bind(ask.identity.scope().as_str())
        .bind(ask.identity.key().as_str())
        .fetch_one(conn)
        .await
        .map_err(|error| code::fold_table(error, &ask.table, "SELECT"))?;
    seen(&row)
}

/// What a look-up's row shows, and the claims held in its transaction.
fn seen(row: &PgRow) -> Result<(Seen, String), Error> {
    let place: i64 = row.try_get("place").map_err(code::fold)?;
    let verified: &str = row.try_get("verified").map_err(code::fold)?;
    let isolation: &str = row.try_get("isolation").map_err(code::fold)?;
    let seen = Seen {
        record: row::record(row, row::text)?,
        lock: Lock::NotAsked,
        now: row::timestamp(row, "now")?,
        place,
        snapshot: !isolation.starts_with("read "),
        verified: verified.contains(&format!(",{place},")),
        placeholder: false,
        running: None,
        home: None,
    };
    Ok((seen, row.try_get("held").map_err(code::fold)?))
}
