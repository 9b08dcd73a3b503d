//! SQLite: one writer at a time arbitrates, and the primary key behind it.
//!
//! The order of a fresh run: look-up without a transaction (a replay must not wait for another key's writer);
//! BEGIN; the write lock; look-up again; SAVEPOINT; body; RELEASE; INSERT; COMMIT.
//!
//! The **ownership check** is the savepoint, named after the attempt. If the body ended the transaction, or a
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
mod durable;
mod error;
mod lease;
mod running;
pub(crate) mod sql;
mod unit;
mod verify;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use self::claim::{
    SqliteClaim, SqliteClaimRequest, SqliteFound, SqliteHeldClaim, SqlitePoolTraits,
};
use self::running::{Refused, RunningKey};
use super::row;
use super::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::decision::{Lock, Lookup};
use crate::stores::fast_check;
use crate::values::error::{Error, SchemaFault, SchemaFinding};
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::record::{AttemptId, CODEC_JSON};

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
        let database_path = file(self, &request.table).await?;
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
        verify::table(self, &claim.request.table).await
    }

    async fn findings(&mut self, claim: &SqliteHeldClaim) -> Result<Vec<SchemaFinding>, Error> {
        verify::findings(self, &claim.request.table).await
    }

    async fn set_savepoint(&mut self, claim: &SqliteHeldClaim, _: bool) -> Result<(), Error> {
        let statement = sql::set_savepoint(&claim.request);
        self.execute(AssertSqlSafe(statement))
            .await
            .map_err(error::map_error)?;
        Ok(())
    }

    async fn release_savepoint(
        &mut self,
        claim: &SqliteHeldClaim,
        body_writes: BodyWrites,
    ) -> Result<(), Error> {
        if body_writes == BodyWrites::Discard {
            let statement = sql::roll_back_body(&claim.request);
            self.execute(AssertSqlSafe(statement))
                .await
                .map_err(error::savepoint_error)?;
        }
        let statement = sql::release_savepoint(&claim.request);
        self.execute(AssertSqlSafe(statement))
            .await
            .map_err(error::savepoint_error)?;
        Ok(())
    }

    async fn write(
        &mut self,
        claim: &SqliteHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error> {
        let mut rows = insert(self, claim, record, true).await;
        if matches!(rows, Ok(0)) {
            let files = attached::list(self).await?;
            attached::check(self, files).await?;
            rows = insert(self, claim, record, false).await;
        }
        match rows {
            Ok(1) => Ok(Written::Done),
            Ok(_) if record.replaces.is_some() => Ok(Written::Conflict),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if error::is_conflict(&error) && record.replaces.is_none() => {
                found_reclaimable(self, &claim.request, error)
                    .await
                    .map(|()| Written::Conflict)
            }
            Err(error) => Err(error::map_error(error)),
        }
    }

    async fn release(&mut self, claim: SqliteHeldClaim) -> Result<(), Error> {
        self.release_savepoint(&claim, BodyWrites::Keep).await
    }

    async fn purge(&mut self, table: &str, purgeable: Purgeable, limit: u32) -> Result<u64, Error> {
        let done = sqlx::query(AssertSqlSafe(sql::purge(table, purgeable)))
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
    let request = &claim.request;
    let statement = sql::write(&request.table, record.replaces.is_some(), alone);
    let done = sqlx::query(AssertSqlSafe(statement))
        .bind(record.retention)
        .bind(request.attempt_id.as_uuid())
        .bind(record.attempt)
        .bind(record.status.code())
        .bind(FINGERPRINT_VERSION)
        .bind(CODEC_JSON)
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .bind(record.operation)
        .bind(
            record
                .fingerprint
                .as_ref()
                .map(|hash| hash.as_bytes().as_slice()),
        )
        .bind(record.request)
        .bind(record.result)
        .bind(record.failure)
        .bind(record.replaces.map(AttemptId::as_uuid))
        .execute(conn)
        .await?;
    Ok(done.rows_affected())
}

/// Enters the identity among those that run in this process.
async fn enter(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    database_path: Option<&String>,
) -> Result<(Lock, Option<RunningKey>), Error> {
    // The address of the driver's handle: no two living connections share one.
    let runner = conn
        .lock_handle()
        .await
        .map_err(error::map_error)?
        .as_raw_handle()
        .addr()
        .get();
    // A database without a name belongs to this connection only.
    let database_path = database_path.or(request.pool_traits.shared_memory.as_ref());
    let database_path = database_path.map_or_else(|| format!("connection {runner}"), String::clone);
    Ok(
        match RunningKey::enter(&database_path, request.lock_key, runner) {
            Ok(running) => (Lock::Granted, Some(running)),
            Err(Refused::Here) => (Lock::Nested, None),
            Err(Refused::Elsewhere) if fast_check::is_on() => (Lock::Refused, None),
            Err(Refused::Elsewhere) => (Lock::Granted, None),
        },
    )
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
) -> Result<(SqliteFound, Option<String>), Error> {
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
        dialect: SqliteClaim { running: None },
    };
    let found = SqliteFound { lookup, claim };
    Ok((found, Some(file).filter(|file| !file.is_empty())))
}
