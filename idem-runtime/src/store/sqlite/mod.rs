//! SQLite: one writer at a time arbitrates, and the primary key behind it.
//!
//! Order of a fresh run: look-up without a transaction (a replay must not wait for another key's writer); BEGIN
//! IMMEDIATE; look-up again; SAVEPOINT; body; RELEASE; INSERT; COMMIT.
//!
//! The **witness** is the savepoint, named after the attempt: if the body ended the transaction, or a failing statement
//! did (`INSERT OR ROLLBACK`, a full disk), there is no such savepoint to release, and no record is written.
//!
//! Tables are named with their schema (`main.` by default), so that a temporary table of the same name is not in the way.

mod code;
mod create;
mod row;
pub(crate) mod sql;
mod unit;
mod verify;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::running::{Refused, Running};
use super::session::{Ask, Entry, Held, Seen, Session, Written, sealed::Sealed};
use crate::error::Error;
use crate::fast_check;
use crate::fingerprint::FINGERPRINT_VERSION;
use crate::outcome::Lock;
use crate::record::{AttemptId, CODEC_JSON};

impl Sealed for SqliteConnection {}

impl Session for SqliteConnection {
    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, ask: &Ask) -> Result<Seen, Error> {
        if !self.is_in_transaction() && !begun_by_hand(self).await? {
            return Ok(Seen {
                lock: Lock::NoTransaction,
                ..look(self, ask).await?
            });
        }
        let mut seen = look_as_writer(self, ask).await?;
        enter(self, ask, &mut seen).await?;
        Ok(seen)
    }

    async fn look_up(&mut self, ask: &Ask) -> Result<Seen, Error> {
        look(self, ask).await
    }

    async fn verify(&mut self, held: &Held) -> Result<(), Error> {
        verify::table(self, &held.ask.table).await
    }

    async fn mark(&mut self, held: &Held, _: bool) -> Result<(), Error> {
        let statement = format!("SAVEPOINT {}", held.ask.savepoint());
        self.execute(AssertSqlSafe(statement))
            .await
            .map_err(code::fold)?;
        Ok(())
    }

    async fn unmark(&mut self, held: &Held, undo: bool) -> Result<(), Error> {
        let savepoint = held.ask.savepoint();
        if undo {
            let statement = format!("ROLLBACK TO SAVEPOINT {savepoint}");
            self.execute(AssertSqlSafe(statement))
                .await
                .map_err(code::fold_witness)?;
        }
        let statement = format!("RELEASE SAVEPOINT {savepoint}");
        self.execute(AssertSqlSafe(statement))
            .await
            .map_err(code::fold_witness)?;
        Ok(())
    }

    async fn write(&mut self, held: &Held, entry: &Entry<'_>) -> Result<Written, Error> {
        let ask = &held.ask;
        let result = sqlx::query(AssertSqlSafe(sql::write(
            &ask.table,
            entry.replaces.is_some(),
        )))
        .bind(entry.retention)
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
        .bind(entry.replaces.map(AttemptId::as_uuid))
        .execute(&mut *self)
        .await;
        match result {
            Ok(done) if done.rows_affected() == 1 => Ok(Written::Done),
            Ok(_) if entry.replaces.is_some() => Ok(Written::Rival),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if code::is_conflict(&error) => Ok(Written::Rival),
            Err(error) => Err(code::fold(error)),
        }
    }

    async fn release(&mut self, held: Held) -> Result<(), Error> {
        self.unmark(&held, false).await
    }

    async fn purge(&mut self, table: &str, limit: u32) -> Result<u64, Error> {
        let done = sqlx::query(AssertSqlSafe(sql::purge(table)))
            .bind(limit)
            .execute(self)
            .await
            .map_err(code::fold)?;
        Ok(done.rows_affected())
    }
}

/// Enters the identity among those that run in this process, and notes in `seen` what came of it.
async fn enter(conn: &mut SqliteConnection, ask: &Ask, seen: &mut Seen) -> Result<(), Error> {
    seen.lock = Lock::Granted;
    // The address of the driver's handle: no two living connections share one.
    let runner = conn
        .lock_handle()
        .await
        .map_err(code::fold)?
        .as_raw_handle()
        .addr()
        .get();
    // A database without a name is this connection's own.
    let home = seen.home.as_ref().or(ask.home.as_ref());
    let home = home.map_or_else(|| format!("connection {runner}"), String::clone);
    match Running::enter(&home, ask.mark, runner) {
        Ok(running) => seen.running = Some(running),
        Err(Refused::Here) => seen.lock = Lock::Nested,
        Err(Refused::Elsewhere) if fast_check::is_on() => seen.lock = Lock::Refused,
        Err(Refused::Elsewhere) => {}
    }
    Ok(())
}

/// Whether a transaction is open that the driver does not know of: then there is none to begin.
async fn begun_by_hand(conn: &mut SqliteConnection) -> Result<bool, Error> {
    match conn.execute("BEGIN").await {
        Ok(_) => {
            conn.execute("ROLLBACK").await.map_err(code::fold)?;
            Ok(false)
        }
        Err(error) if code::is_plain_error(&error) => Ok(true),
        Err(error) => Err(code::fold(error)),
    }
}

/// The look-up under the write lock: nobody's record can appear from here to COMMIT. The lock comes first: a deferred
/// transaction that reads first may find its snapshot stale when it writes.
async fn look_as_writer(conn: &mut SqliteConnection, ask: &Ask) -> Result<Seen, Error> {
    let statement = AssertSqlSafe(sql::take_write_lock(&ask.table));
    match conn.execute(statement).await {
        Ok(_) => look(conn, ask).await,
        Err(error) if code::is_plain_error(&error) => {
            Err(verify::why(conn, &ask.table, error).await)
        }
        Err(error) => Err(code::fold(error)),
    }
}

/// The look-up.
async fn look(conn: &mut SqliteConnection, ask: &Ask) -> Result<Seen, Error> {
    let row = sqlx::query(AssertSqlSafe(sql::look_up(&ask.table)))
        .bind(ask.identity.namespace())
        .bind(ask.identity.scope().as_str())
        .bind(ask.identity.key().as_str())
        .fetch_one(&mut *conn)
        .await;
    let row = match row {
        Ok(row) => row,
        Err(error) if code::is_plain_error(&error) => {
            return Err(verify::why(conn, &ask.table, error).await);
        }
        Err(error) => return Err(code::fold(error)),
    };
    let file: String = row.try_get("file").map_err(code::fold)?;
    let definition: String = row.try_get("definition").map_err(code::fold)?;
    Ok(Seen {
        record: row::record(&row)?,
        lock: Lock::NotAsked,
        now: row::timestamp(&row, "now")?,
        place: 0,
        snapshot: false,
        verified: verify::is_known(&ask.table, &definition),
        running: None,
        home: Some(file).filter(|file| !file.is_empty()),
    })
}
