//! SQLite: one writer at a time arbitrates, and the primary key behind it.
//!
//! The order of a fresh run: look-up without a transaction (a replay must not wait for another key's writer);
//! BEGIN; the write lock; SAVEPOINT; look-up again; body; RELEASE; INSERT; COMMIT. On a pool of a file the first
//! look-up is one text, what is between BEGIN and body a second, and what is between body and COMMIT a third
//! (`messages`).
//!
//! The **ownership check** is the savepoint (`savepoint`). If the body ended the transaction, or a
//! failing statement did (`INSERT OR ROLLBACK`, a full disk), there is no such savepoint to release, and no
//! record is written.
//!
//! **In flight** is known only of the keys that run in this process, and only while they run. A record that
//! waits in a caller's open transaction shows as a busy database: [`Error::Busy`], at once or after the
//! connection's `busy_timeout`. If the operation waits, the error comes when its time is over.
//!
//! Tables are named with their schema (`main.` by default), so that a temporary table of the same name cannot
//! hide them.

mod attached;
mod claim;
mod create;
#[cfg(feature = "operate")]
mod doctor;
mod durable;
mod enter;
mod error;
mod hold;
mod lapsed;
mod lease;
mod messages;
#[cfg(feature = "operate")]
mod operate;
mod pool_file;
mod pool_traits;
mod running;
#[cfg(feature = "metrics")]
mod sample;
mod savepoint;
pub(crate) mod sql;
mod unit;
mod verify;

use std::sync::Arc;

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use self::claim::{
    Savepoint, SqliteClaim, SqliteClaimRequest, SqliteFound, SqliteHeldClaim, SqlitePoolTraits,
};
use self::enter::enter;
use super::row;
use super::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::decision::{Lock, Lookup};
use crate::values::error::{Error, SchemaFault, SchemaFinding};
use crate::values::key::Scope;
use crate::values::record::AttemptId;

impl Sealed for SqliteConnection {}

impl Session for SqliteConnection {
    type PoolTraits = SqlitePoolTraits;
    type Claim = SqliteClaim;

    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, request: &SqliteClaimRequest) -> Result<SqliteFound, Error> {
        if !self.is_in_transaction() && !begun_by_hand(self).await? {
            let mut found = look(self, request).await?;
            found.lookup.lock = Lock::NoTransaction;
            return Ok(found);
        }
        // Comes before the write lock, for which a duplicate would wait as long as the attempt in flight runs.
        let database_path = file(self, &request.table).await?.map(Arc::from);
        let (lock, running) = enter(self, request, database_path.as_ref()).await?;
        let mut found = if lock == Lock::Granted {
            look_as_writer(self, request).await?
        } else {
            look(self, request).await?
        };
        found.lookup.lock = lock;
        found.claim.dialect.running = running;
        Ok(found)
    }

    async fn look_up(&mut self, request: &SqliteClaimRequest) -> Result<SqliteFound, Error> {
        look(self, request).await
    }

    async fn verify(&mut self, claim: &SqliteHeldClaim) -> Result<(), Error> {
        verify::table(self, &claim.request.table).await?;
        if let Savepoint::OfUnit {
            table,
            schema_version,
        } = &claim.dialect.savepoint
        {
            table.set_verified(*schema_version);
        }
        Ok(())
    }

    async fn findings(&mut self, claim: &SqliteHeldClaim) -> Result<Vec<SchemaFinding>, Error> {
        verify::findings(self, &claim.request.table).await
    }

    async fn set_savepoint(&mut self, claim: &SqliteHeldClaim, _: bool) -> Result<(), Error> {
        savepoint::set(self, claim).await
    }

    async fn release_savepoint(
        &mut self,
        claim: &SqliteHeldClaim,
        body_writes: BodyWrites,
    ) -> Result<(), Error> {
        savepoint::release(self, claim, body_writes).await
    }

    async fn write(
        &mut self,
        claim: &SqliteHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error> {
        let rows = insert(self, claim, record, true).await;
        written(self, claim, record, rows).await
    }

    async fn release(&mut self, claim: SqliteHeldClaim) -> Result<(), Error> {
        self.release_savepoint(&claim, BodyWrites::Keep).await
    }

    async fn has_holds(&mut self, table: &str) -> Result<bool, Error> {
        hold::exist(self, table).await
    }

    async fn lock_holds(&mut self, table: &str) -> Result<bool, Error> {
        hold::exist(self, table).await
    }

    async fn is_held(&mut self, table: &str, scope: &Scope) -> Result<bool, Error> {
        hold::is_held(self, table, scope).await
    }

    async fn purge(&mut self, table: &str, purgeable: Purgeable, limit: u32) -> Result<u64, Error> {
        let has_holds = hold::exist(self, table).await?;
        let done = sqlx::query(AssertSqlSafe(sql::purge(table, purgeable, has_holds)))
            .bind(limit)
            .execute(&mut *self)
            .await;
        match done {
            Ok(done) => Ok(done.rows_affected()),
            Err(error) => Err(wrong_or(self, table, error).await),
        }
    }
}

/// Inserts the record and returns the number of rows. Inserts none if `alone` and another file is attached.
async fn insert(
    conn: &mut SqliteConnection,
    claim: &SqliteHeldClaim,
    record: &NewRecord<'_>,
    alone: bool,
) -> Result<u64, sqlx::Error> {
    let statement = sql::write(&claim.request.table, record.replaces.is_some(), alone);
    let query = bind_record(sqlx::query(AssertSqlSafe(statement)), claim, record);
    Ok(query.execute(conn).await?.rows_affected())
}

/// Returns what came of an INSERT that writes nothing if another file is attached: inserts after all, if the
/// transaction has not written to that file.
async fn written(
    conn: &mut SqliteConnection,
    claim: &SqliteHeldClaim,
    record: &NewRecord<'_>,
    mut rows: Result<u64, sqlx::Error>,
) -> Result<Written, Error> {
    if matches!(rows, Ok(0)) {
        let files = attached::list(conn).await?;
        attached::check(conn, files).await?;
        rows = insert(conn, claim, record, false).await;
    }
    match rows {
        Ok(1) => Ok(Written::Done),
        Ok(_) if record.replaces.is_some() => Ok(Written::Conflict),
        Ok(_) => Err(Error::RecordNotWritten),
        Err(error) if error::is_conflict(&error) && record.replaces.is_none() => {
            found_reclaimable(conn, &claim.request, error)
                .await
                .map(|()| Written::Conflict)
        }
        Err(error) => Err(error::map_error(error)),
    }
}

/// Binds the values of a record in the order of [`sql::write`].
fn bind_record<'q>(
    query: Query<'q, Sqlite, SqliteArguments>,
    claim: &'q SqliteHeldClaim,
    record: &'q NewRecord<'_>,
) -> Query<'q, Sqlite, SqliteArguments> {
    let request = &claim.request;
    let fingerprint = record.fingerprint.as_ref();
    query
        .bind(record.retention)
        .bind(request.attempt_id.as_uuid())
        .bind(record.attempt)
        .bind(record.status.code())
        .bind(record.format.fingerprint_version)
        .bind(record.format.codec)
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .bind(record.operation)
        .bind(fingerprint.map(|hash| hash.as_bytes().as_slice()))
        .bind(record.request)
        .bind(record.result)
        .bind(record.failure)
        .bind(record.replaces.map(AttemptId::as_uuid))
}

/// Returns the file of the table's database, without reading from it. A statement that reads, even if it only
/// reads `pragma_database_list` as a table, fixes the snapshot of a deferred transaction.
async fn file(conn: &mut SqliteConnection, table: &str) -> Result<Option<String>, Error> {
    let (schema, _) = sql::parts(table);
    let databases = conn.fetch_all(sql::FILES).await.map_err(error::map_error)?;
    for database in databases {
        if database
            .try_get::<&str, _>("name")
            .map_err(error::map_error)?
            == schema
        {
            let file: String = database.try_get("file").map_err(error::map_error)?;
            return Ok(Some(file).filter(|file| !file.is_empty()));
        }
    }
    Ok(None)
}

/// Returns whether a transaction is open that the driver does not know of.
///
/// Asks with a statement that is an error inside a transaction and does nothing outside. A probe that begins a
/// transaction would leave it open if this future is dropped.
async fn begun_by_hand(conn: &mut SqliteConnection) -> Result<bool, Error> {
    // Sent raw, so that it is prepared each time: SQLite refuses it when it is prepared.
    match conn.execute(sqlx::raw_sql(sql::IS_IN_TRANSACTION)).await {
        Ok(_) => Ok(false),
        Err(error) if error::is_plain_error(&error) => Ok(true),
        Err(error) => Err(error::map_error(error)),
    }
}

/// Looks the record up under the write lock: no other record can appear from here to COMMIT. The lock comes
/// first: a deferred transaction that reads first may find its snapshot stale when it writes.
async fn look_as_writer(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
) -> Result<SqliteFound, Error> {
    let statement = AssertSqlSafe(sql::take_write_lock(&request.table));
    match conn.execute(statement).await {
        Ok(_) => look(conn, request).await,
        Err(error) => Err(wrong_or(conn, &request.table, error).await),
    }
}

/// Checks that there is a record that an INSERT can have met. Returns the error if there is none: the duplicate
/// is in a table that a trigger writes.
async fn found_reclaimable(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    error: sqlx::Error,
) -> Result<(), Error> {
    if look(conn, request).await?.lookup.record.is_some() {
        Ok(())
    } else {
        Err(error::map_error(error))
    }
}

/// Maps an error of a statement on the table: to the table's fault if the statement is wrong, otherwise by its
/// code.
async fn wrong_or(conn: &mut SqliteConnection, table: &str, error: sqlx::Error) -> Error {
    if error::is_plain_error(&error) {
        verify::why(conn, table, error).await
    } else {
        error::map_error(error)
    }
}

/// Looks the record up.
async fn look(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
) -> Result<SqliteFound, Error> {
    look_at_file(conn, request).await.map(|(found, _)| found)
}

/// Looks the record up, and returns the file of the database that was read, if it has a name.
async fn look_at_file(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
) -> Result<(SqliteFound, Option<Arc<str>>), Error> {
    let row = sqlx::query(AssertSqlSafe(sql::look_up(&request.table)))
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .fetch_one(&mut *conn)
        .await;
    let row = match row {
        Ok(row) => row,
        Err(error) => return Err(wrong_or(conn, &request.table, error).await),
    };
    if row.try_get::<bool, _>("dirty").map_err(error::map_error)? {
        // The record read may be another attempt's that is never committed.
        return Err(SchemaFault::ReadUncommitted.into());
    }
    let file: String = row.try_get("file").map_err(error::map_error)?;
    let definition: String = row.try_get("definition").map_err(error::map_error)?;
    let journal: String = row.try_get("journal").map_err(error::map_error)?;
    let lookup = Lookup {
        record: row::record(&row, row::text)?,
        lock: Lock::NotAsked,
        now: row::timestamp(&row, "now")?,
    };
    let claim = SqliteHeldClaim {
        request: request.clone(),
        snapshot: false,
        verified: verify::is_known(&request.table, &definition)
            && verify::is_undone(&journal, &file),
        dialect: SqliteClaim {
            running: None,
            savepoint: Savepoint::OfAttempt,
        },
    };
    let found = SqliteFound { lookup, claim };
    let file = Some(file).filter(|file| !file.is_empty());
    Ok((found, file.map(Arc::from)))
}
