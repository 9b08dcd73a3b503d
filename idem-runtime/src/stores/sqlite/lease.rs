//! Leases on SQLite: each write in a transaction of its own, flushed before it answers.

use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, Transaction};

use super::super::backend::Backend as _;
use super::super::lease::{
    Due, Extended, LeaseRequest, LeaseSession, LeaseStatements, Leased, Overdue, Page, Plan,
    UnknownRecord, Write, condition, decided, lapsed, reclaimable,
};
use super::super::session::{ClaimRequest, CommitError, NewRecord};
use super::durable::{make_durable, restore};
use super::sql::{NOW, full};
use super::{error, found_reclaimable, look_as_writer, row, sql, wrong_or};
use crate::decision::{Change, Lock};
use crate::values::error::Error;
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::policy::Lease;
use crate::values::record::{AttemptId, CODEC_JSON};

const IDENTITY: &str = "namespace = ?1 AND scope = ?2 AND key = ?3";

/// The most leases that one statement extends: 1,000, of five values each.
const AT_ONCE: usize = 1_000;

impl LeaseSession for SqliteConnection {
    async fn acquire(
        &mut self,
        request: &ClaimRequest,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        check(self)?;
        // Before the write lock: an answer must not wait for another key's writer.
        let found = Sqlite::look_up_before_begin(self, request)
            .await
            .map_err(rolled_back)?;
        let mut running = None;
        if let Some(found) = found {
            let (lookup, claim) = found.split(request.clone());
            if let Plan::Answer(leased) = lease_request.plan(lookup) {
                return Ok(leased);
            }
            running = claim.running;
        }
        let level = make_durable(self, &request.table)
            .await
            .map_err(rolled_back)?;
        let taken = write_lease(self, request, lease_request).await;
        restore(self, &request.table, level).await;
        drop(running);
        taken
    }

    async fn update(
        &mut self,
        request: &ClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, CommitError> {
        check(self)?;
        let level = make_durable(self, &request.table)
            .await
            .map_err(rolled_back)?;
        let done = update(self, request, write).await;
        restore(self, &request.table, level).await;
        done
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check(self)?;
        let level = make_durable(self, table).await.map_err(rolled_back)?;
        let done = extend(self, table, due).await;
        restore(self, table, level).await;
        done
    }

    async fn lapse(&mut self, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
        check(self)?;
        let level = make_durable(self, overdue.table)
            .await
            .map_err(rolled_back)?;
        let done = lapse(self, overdue).await;
        restore(self, overdue.table, level).await;
        done
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
        let after = page
            .after
            .map_or("", |_| "AND (locked_until, scope, key) > (?3, ?4, ?5)");
        let statement = format!(
            "SELECT r.scope AS scope, r.key AS key, {} FROM {} AS r WHERE namespace = ?1 AND status = 4 {after} \
             ORDER BY r.locked_until, r.scope, r.key LIMIT ?2",
            sql::COLUMNS,
            full(page.table),
        );
        let mut query = sqlx::query(AssertSqlSafe(statement))
            .bind(page.namespace)
            .bind(page.limit);
        if let Some((until, scope, key)) = page.after {
            query = query.bind(until.as_micros()).bind(scope).bind(key);
        }
        let rows = match query.fetch_all(&mut *self).await {
            Ok(rows) => rows,
            Err(error) => return Err(wrong_or(self, page.table, error).await),
        };
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(record) = row::record(&row, row::text)? {
                listed.push(UnknownRecord {
                    scope: row.try_get("scope").map_err(error::map_error)?,
                    key: row.try_get("key").map_err(error::map_error)?,
                    record,
                });
            }
        }
        Ok(listed)
    }

    async fn count_unknown(&mut self, table: &str, namespace: &str) -> Result<u64, Error> {
        let statement = format!(
            "SELECT count(*) FROM {} WHERE namespace = ?1 AND status = 4",
            full(table),
        );
        let found = sqlx::query_scalar(AssertSqlSafe(statement))
            .bind(namespace)
            .fetch_one(&mut *self)
            .await;
        match found {
            Ok(found) => Ok(i64::unsigned_abs(found)),
            Err(error) => Err(wrong_or(self, table, error).await),
        }
    }
}

impl LeaseStatements for SqliteConnection {
    async fn upsert(
        &mut self,
        request: &ClaimRequest,
        record: &NewRecord<'_>,
        take_over: bool,
        lease: Lease,
    ) -> Result<bool, Error> {
        let table = full(&request.table);
        let statement = if record.replaces.is_some() {
            let guard = if take_over {
                condition(Change::TakeOver, NOW)
            } else {
                reclaimable(NOW)
            };
            format!(
                "UPDATE {table} SET created_at = {NOW}, expires_at = 9223372036854775807, locked_until = {NOW} + ?4, \
                 attempt_id = ?5, attempt = ?6, status = ?7, fingerprint_version = ?8, codec = ?9, operation = ?10, \
                 fingerprint = ?11, request = ?12, result = NULL, failure = NULL, on_lapse = ?14 \
                 WHERE {IDENTITY} AND attempt_id = ?13 AND {guard}"
            )
        } else {
            format!(
                "INSERT OR ABORT INTO {table} (namespace, scope, key, created_at, expires_at, locked_until, attempt_id, \
                 attempt, status, fingerprint_version, codec, operation, fingerprint, request, on_lapse) \
                 SELECT ?1, ?2, ?3, {NOW}, 9223372036854775807, {NOW} + ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?14 \
                 WHERE ?13 IS NULL"
            )
        };
        let result = sqlx::query(AssertSqlSafe(statement))
            .bind(request.identity.namespace())
            .bind(request.identity.scope().as_str())
            .bind(request.identity.key().as_str())
            .bind(lease.micros())
            .bind(request.attempt_id.as_uuid())
            .bind(record.attempt)
            .bind(record.status.code())
            .bind(FINGERPRINT_VERSION)
            .bind(CODEC_JSON)
            .bind(record.operation)
            .bind(
                record
                    .fingerprint
                    .as_ref()
                    .map(|hash| hash.as_bytes().as_slice()),
            )
            .bind(record.request)
            .bind(record.replaces.map(AttemptId::as_uuid))
            .bind(lease.on_lapse().code())
            .execute(&mut *self)
            .await;
        match result {
            Ok(done) if done.rows_affected() == 1 => Ok(true),
            Ok(_) if record.replaces.is_some() => Ok(false),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if error::is_conflict(&error) && record.replaces.is_none() => {
                found_reclaimable(self, request, error)
                    .await
                    .map(|()| false)
            }
            Err(error) => Err(error::map_error(error)),
        }
    }

    async fn update_row(
        &mut self,
        request: &ClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, Error> {
        let Write { change, .. } = *write;
        let set = match change {
            Change::Extend => format!(", locked_until = {NOW} + ?6"),
            Change::Doubt | Change::Lapse | Change::TakeOver => String::new(),
            Change::Complete
            | Change::Fail
            | Change::Release
            | Change::LapseReleased
            | Change::Settle(_) => format!(
                ", created_at = {NOW}, expires_at = {NOW} + ?6, locked_until = NULL, codec = {CODEC_JSON}, \
                 result = ?7, failure = ?8"
            ),
        };
        let statement = format!(
            "UPDATE OR ABORT {} SET attempt_id = ?5, status = {}{set} WHERE {IDENTITY} AND attempt_id = ?4 AND {}",
            full(&request.table),
            change.to().code(),
            condition(change, NOW),
        );
        let mut query = sqlx::query(AssertSqlSafe(statement))
            .bind(request.identity.namespace())
            .bind(request.identity.scope().as_str())
            .bind(request.identity.key().as_str())
            .bind(write.expected.as_uuid())
            .bind(write.becomes.as_uuid());
        if !set.is_empty() {
            query = query.bind(write.lasts);
        }
        if change != Change::Extend && !set.is_empty() {
            query = query.bind(write.result).bind(write.failure);
        }
        match query.execute(&mut *self).await {
            Ok(done) => Ok(done.rows_affected() == 1),
            Err(error) => Err(wrong_or(self, &request.table, error).await),
        }
    }
}

async fn write_lease(
    conn: &mut SqliteConnection,
    request: &ClaimRequest,
    lease_request: &LeaseRequest<'_>,
) -> Result<Leased, CommitError> {
    let mut tx = begin(conn).await?;
    let decided = match look_as_writer(&mut tx, request).await {
        Ok(mut found) => {
            found.lock = Lock::Granted;
            decided(&mut *tx, found, request, lease_request).await
        }
        Err(error) => Err(error),
    };
    end(tx, decided).await
}

async fn update(
    conn: &mut SqliteConnection,
    request: &ClaimRequest,
    write: &Write<'_>,
) -> Result<bool, CommitError> {
    let mut tx = begin(conn).await?;
    let done = tx.update_row(request, write).await;
    end(tx, done.map(|done| (done, done))).await
}

/// Under the write lock no record is locked by anybody else: what is not extended is lost.
async fn extend(
    conn: &mut SqliteConnection,
    table: &str,
    due: &[Due<'_>],
) -> Result<Extended, CommitError> {
    let mut tx = begin(conn).await?;
    let mut extended = Ok(Extended::default());
    for due in due.chunks(AT_ONCE) {
        if let Ok(so_far) = &mut extended {
            match extend_some(&mut tx, table, due).await {
                Ok(more) => so_far.extended.extend(more),
                Err(error) => extended = Err(error),
            }
        }
    }
    end(tx, extended.map(|extended| (extended, true))).await
}

async fn extend_some(
    tx: &mut SqliteConnection,
    table: &str,
    due: &[Due<'_>],
) -> Result<Vec<AttemptId>, Error> {
    let values = vec!["(?, ?, ?, ?, ?)"; due.len()].join(", ");
    let statement = format!(
        "WITH due (namespace, scope, key, attempt_id, lasts) AS (VALUES {values}) \
         UPDATE OR ABORT {} AS r SET locked_until = {NOW} + due.lasts FROM due \
         WHERE r.namespace = due.namespace AND r.scope = due.scope AND r.key = due.key \
         AND r.attempt_id = due.attempt_id AND r.{} RETURNING attempt_id",
        full(table),
        condition(Change::Extend, NOW),
    );
    let mut query = sqlx::query(AssertSqlSafe(statement)).persistent(false);
    for due in due {
        query = query
            .bind(due.identity.namespace())
            .bind(due.identity.scope().as_str())
            .bind(due.identity.key().as_str())
            .bind(due.attempt_id.as_uuid())
            .bind(due.lasts);
    }
    let rows = match query.fetch_all(&mut *tx).await {
        Ok(rows) => rows,
        Err(error) => return Err(wrong_or(tx, table, error).await),
    };
    let id = |row: &SqliteRow| row.try_get("attempt_id").map(AttemptId::from_uuid);
    rows.iter()
        .map(id)
        .collect::<Result<_, _>>()
        .map_err(error::map_error)
}

async fn lapse(conn: &mut SqliteConnection, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
    let full = full(overdue.table);
    let statement = format!(
        "UPDATE {full} SET {} WHERE (namespace, scope, key) IN (SELECT namespace, scope, key FROM {full} \
         WHERE namespace = ?1 AND operation = ?2 AND {} ORDER BY locked_until LIMIT ?3)",
        lapsed(&format!("{NOW} + ?4"), "?5"),
        condition(Change::Lapse, NOW),
    );
    let mut tx = begin(conn).await?;
    let done = sqlx::query(AssertSqlSafe(statement))
        .bind(overdue.namespace)
        .bind(overdue.operation)
        .bind(overdue.limit)
        .bind(overdue.retention)
        .bind(overdue.becomes.as_uuid())
        .execute(&mut *tx)
        .await;
    let done = match done {
        Ok(done) => Ok((done.rows_affected(), true)),
        Err(error) => Err(wrong_or(&mut tx, overdue.table, error).await),
    };
    end(tx, done).await
}

/// A transaction of the caller's could take a lease back.
fn check(conn: &SqliteConnection) -> Result<(), CommitError> {
    if conn.is_in_transaction() {
        Err(CommitError::RolledBack(Error::LeaseInTransaction))
    } else {
        Ok(())
    }
}

async fn begin(conn: &mut SqliteConnection) -> Result<Transaction<'_, Sqlite>, CommitError> {
    conn.begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(|error| CommitError::RolledBack(error::begin_error(error)))
}

/// COMMIT where something was written, and ROLLBACK where nothing was.
async fn end<T>(
    tx: Transaction<'_, Sqlite>,
    done: Result<(T, bool), Error>,
) -> Result<T, CommitError> {
    match done {
        Ok((answer, true)) => Sqlite::commit(tx).await.map(|()| answer),
        Ok((answer, false)) => {
            let rolled = tx.rollback().await.map_err(error::map_error);
            rolled.map(|()| answer).map_err(rolled_back)
        }
        Err(error) => {
            // Nothing is written; the driver tries again before the connection's next statement.
            let _ = tx.rollback().await;
            Err(CommitError::RolledBack(error))
        }
    }
}

fn rolled_back(error: Error) -> CommitError {
    CommitError::RolledBack(error)
}
