//! Leases on PostgreSQL: each write in a transaction of its own, flushed before it answers.

use std::collections::HashSet;

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, Transaction};

use super::super::backend::Backend as _;
use super::super::lease::{
    Due, Extended, LeaseRequest, LeaseSession, LeaseStatements, Leased, Overdue, Page,
    UnknownRecord, Write, condition, decided, lapsed, reclaimable,
};
use super::super::session::{ClaimRequest, CommitError, NewRecord};
use super::statement::Statement;
use super::unit::lock_answer;
use super::{error, keeps_statements, look, row, sql};
use crate::decision::Change;
use crate::values::error::Error;
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::policy::Lease;
use crate::values::record::{AttemptId, CODEC_JSON};

const NOW: &str = "pg_catalog.clock_timestamp()";
const IDENTITY: &str = "namespace = $1 AND scope = $2 AND key = $3";

impl LeaseSession for PgConnection {
    async fn acquire(
        &mut self,
        request: &ClaimRequest,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        check(self)?;
        let failed = match self
            .begin_with(AssertSqlSafe(sql::begin_lease(request)))
            .await
        {
            Ok(tx) => return acquire(tx, request, lease_request).await,
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn update(
        &mut self,
        request: &ClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, CommitError> {
        check(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_update())).await {
            Ok(mut tx) => {
                let done = tx.update_row(request, write).await;
                return end(tx, done.map(|done| (done, done))).await;
            }
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_update())).await {
            Ok(mut tx) => {
                let done = extend(&mut tx, table, due).await;
                return end(tx, done.map(|done| (done, true))).await;
            }
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn lapse(&mut self, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
        check(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_update())).await {
            Ok(tx) => return lapse(tx, overdue).await,
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
        let after = page.after.map_or("", |_| {
            "AND (locked_until, scope, key) > (timestamptz 'epoch' + $3 * interval '1 microsecond', $4, $5)"
        });
        let statement = format!(
            "SELECT convert_to(r.scope, 'UTF8') AS scope, convert_to(r.key, 'UTF8') AS key, {} FROM {} AS r WHERE namespace = $1 AND status = 4 {after} \
             ORDER BY r.locked_until, r.scope, r.key LIMIT $2",
            sql::COLUMNS,
            page.table,
        );
        let mut statement = Statement::new(statement, false)
            .bind(page.namespace)
            .bind(i64::from(page.limit));
        if let Some((until, scope, key)) = page.after {
            statement = statement.bind(until.as_micros()).bind(scope).bind(key);
        }
        let rows = statement
            .fetch_all(self)
            .await
            .map_err(|error| error::table_error(error, page.table, "SELECT"))?;
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(record) = row::record(&row, row::text)? {
                listed.push(UnknownRecord {
                    scope: row::text(&row, "scope")?,
                    key: row::text(&row, "key")?,
                    record,
                });
            }
        }
        Ok(listed)
    }

    async fn count_unknown(&mut self, table: &str, namespace: &str) -> Result<u64, Error> {
        let statement =
            format!("SELECT count(*) AS found FROM {table} WHERE namespace = $1 AND status = 4");
        let row = Statement::new(statement, false)
            .bind(namespace)
            .fetch_one(self)
            .await;
        let found: i64 = row
            .and_then(|row| row.try_get("found"))
            .map_err(|error| error::table_error(error, table, "SELECT"))?;
        Ok(found.unsigned_abs())
    }
}

impl LeaseStatements for PgConnection {
    async fn upsert(
        &mut self,
        request: &ClaimRequest,
        record: &NewRecord<'_>,
        take_over: bool,
        lease: Lease,
    ) -> Result<bool, Error> {
        let table = &request.table;
        let statement = if record.replaces.is_some() {
            let guard = if take_over {
                condition(Change::TakeOver, NOW)
            } else {
                reclaimable(NOW)
            };
            format!(
                "UPDATE {table} SET created_at = {NOW}, expires_at = 'infinity', \
                 locked_until = {NOW} + $4 * interval '1 microsecond', attempt_id = $5, attempt = $6, status = $7, \
                 fingerprint_version = $8, codec = $9, operation = $10, fingerprint = $11, request = $12, \
                 result = NULL, failure = NULL, on_lapse = $14 WHERE {IDENTITY} AND attempt_id = $13 AND {guard}"
            )
        } else {
            // Plain: the primary key arbitrates.
            format!(
                "INSERT INTO {table} (namespace, scope, key, created_at, expires_at, locked_until, attempt_id, \
                 attempt, status, fingerprint_version, codec, operation, fingerprint, request, on_lapse) \
                 SELECT $1, $2, $3, {NOW}, 'infinity', {NOW} + $4 * interval '1 microsecond', \
                 $5, $6, $7, $8, $9, $10, $11, $12, $14 WHERE $13::uuid IS NULL"
            )
        };
        let named = keeps_statements(self, request);
        let result = Statement::new(statement, named)
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
            .execute(self)
            .await;
        match result {
            Ok(done) if done.rows_affected() == 1 => Ok(true),
            Ok(_) if record.replaces.is_some() => Ok(false),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if error::is_our_conflict(&error, table) => Ok(false),
            Err(error) => Err(error::table_error(error, table, "SELECT, INSERT, UPDATE")),
        }
    }

    async fn update_row(
        &mut self,
        request: &ClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, Error> {
        let Write { change, .. } = *write;
        let set = match change {
            Change::Extend => format!(", locked_until = {NOW} + $6 * interval '1 microsecond'"),
            Change::Doubt | Change::Lapse | Change::TakeOver => String::new(),
            Change::Complete
            | Change::Fail
            | Change::Release
            | Change::LapseReleased
            | Change::Settle(_) => format!(
                ", created_at = clock.now, expires_at = clock.now + $6 * interval '1 microsecond', \
                 locked_until = NULL, codec = {CODEC_JSON}, result = $7, failure = $8"
            ),
        };
        let statement = format!(
            "UPDATE {} SET attempt_id = $5, status = {}{set} FROM (SELECT {NOW} AS now OFFSET 0) AS clock \
             WHERE {IDENTITY} AND attempt_id = $4 AND {}",
            request.table,
            change.to().code(),
            condition(change, NOW),
        );
        let named = keeps_statements(self, request);
        let mut query = Statement::new(statement, named)
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
        let done = query
            .execute(self)
            .await
            .map_err(|error| error::table_error(error, &request.table, "SELECT, UPDATE"))?;
        Ok(done.rows_affected() == 1)
    }
}

async fn acquire(
    mut tx: Transaction<'_, Postgres>,
    request: &ClaimRequest,
    lease_request: &LeaseRequest<'_>,
) -> Result<Leased, CommitError> {
    let found = look(&mut tx, request)
        .await
        .and_then(|(mut found, claims)| {
            found.lock = lock_answer(&claims, request).ok_or(Error::AlreadyInTransaction)?;
            Ok(found)
        });
    let decided = match found {
        Ok(found) => decided(&mut *tx, found, request, lease_request).await,
        Err(error) => Err(error),
    };
    end(tx, decided).await
}

/// One statement for those whose record is free, and another, where any is not, to tell a record that is
/// locked from a lease that is lost.
async fn extend(
    tx: &mut Transaction<'_, Postgres>,
    table: &str,
    due: &[Due<'_>],
) -> Result<Extended, Error> {
    let mut extended = Extended {
        extended: ids(tx, sql::extend(table, due), table).await?,
        ..Extended::default()
    };
    let missing = extended.missing(due);
    if !missing.is_empty() {
        extended.locked = ids(tx, sql::held(table, &missing), table).await?;
    }
    Ok(extended)
}

async fn ids(
    tx: &mut Transaction<'_, Postgres>,
    statement: String,
    table: &str,
) -> Result<HashSet<AttemptId>, Error> {
    // Of as many values as there are leases: not one to keep prepared.
    let rows = Statement::new(statement, false).fetch_all(tx).await;
    rows.map_err(|error| error::table_error(error, table, "SELECT, UPDATE"))?
        .iter()
        .map(|row| row.try_get("attempt_id").map(AttemptId::from_uuid))
        .collect::<Result<_, _>>()
        .map_err(error::map_error)
}

async fn lapse(
    mut tx: Transaction<'_, Postgres>,
    overdue: &Overdue<'_>,
) -> Result<u64, CommitError> {
    let table = overdue.table;
    let statement = format!(
        "WITH lapsed AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
         WHERE namespace = $1 AND operation = $2 AND {} \
         ORDER BY locked_until LIMIT $3 FOR UPDATE SKIP LOCKED) \
         UPDATE {table} AS r SET {} FROM lapsed \
         WHERE r.namespace = lapsed.namespace AND r.scope = lapsed.scope AND r.key = lapsed.key",
        condition(Change::Lapse, NOW),
        lapsed(&format!("{NOW} + $4 * interval '1 microsecond'"), "$5"),
    );
    let done = Statement::new(statement, false)
        .bind(overdue.namespace)
        .bind(overdue.operation)
        .bind(i64::from(overdue.limit))
        .bind(overdue.retention)
        .bind(overdue.becomes.as_uuid())
        .execute(&mut tx)
        .await
        .map_err(|error| error::table_error(error, table, "SELECT, UPDATE"));
    end(tx, done.map(|done| (done.rows_affected(), true))).await
}

/// A transaction of the caller's could take a lease back.
fn check(conn: &PgConnection) -> Result<(), CommitError> {
    if conn.is_in_transaction() {
        Err(CommitError::RolledBack(Error::LeaseInTransaction))
    } else {
        Ok(())
    }
}

/// A batch that failed behind its BEGIN has begun: that is taken back.
async fn not_begun(conn: &mut PgConnection, error: sqlx::Error) -> CommitError {
    Postgres::clear(conn).await;
    CommitError::RolledBack(error::begin_error(error))
}

/// COMMIT where something was written, and ROLLBACK where nothing was.
async fn end<T>(
    tx: Transaction<'_, Postgres>,
    done: Result<(T, bool), Error>,
) -> Result<T, CommitError> {
    match done {
        Ok((answer, true)) => Postgres::commit(tx).await.map(|()| answer),
        Ok((answer, false)) => {
            tx.rollback().await.map_err(rolled_back)?;
            Ok(answer)
        }
        Err(error) => {
            // What cannot be rolled back by word is by the end of its session.
            let _ = tx.rollback().await;
            Err(CommitError::RolledBack(error))
        }
    }
}

fn rolled_back(error: sqlx::Error) -> CommitError {
    CommitError::RolledBack(error::map_error(error))
}
