//! Leases on SQLite: each write in its own transaction, flushed before it is answered.

use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, Transaction};

use super::super::backend::Backend as _;
use super::super::lapsed::{Page, UnknownRecord};
use super::super::lease::{
    Due, Extended, LeaseRequest, LeaseSession, LeaseStatements, Leased, Overdue, Plan, Write,
    check_outside, decided, end,
};
use super::super::lease_sql::values_of;
use super::super::session::{CommitError, NewRecord};
use super::claim::SqliteClaimRequest;
use super::durable::{make_durable, restore};
use super::{error, found_reclaimable, look_as_writer, row, sql, wrong_or};
use crate::decision::Lock;
use crate::values::error::Error;
use crate::values::policy::Lease;
use crate::values::record::AttemptId;

/// The most leases that one statement extends: 1,000, of five values each.
const AT_ONCE: usize = 1_000;

impl LeaseSession for SqliteConnection {
    async fn acquire(
        &mut self,
        request: &SqliteClaimRequest,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        check_outside(self)?;
        // Comes before the write lock: an answer must not wait for another key's writer.
        let mut running = None;
        let lookup = Sqlite::look_up_before_begin(self, request, &mut running)
            .await
            .map_err(rolled_back)?;
        if let Some(lookup) = lookup
            && let Plan::Answer(leased) = lease_request.plan(lookup)
        {
            return Ok(leased);
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
        request: &SqliteClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, CommitError> {
        check_outside(self)?;
        let level = make_durable(self, &request.table)
            .await
            .map_err(rolled_back)?;
        let done = update(self, request, write).await;
        restore(self, &request.table, level).await;
        done
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check_outside(self)?;
        let level = make_durable(self, table).await.map_err(rolled_back)?;
        let done = extend(self, table, due).await;
        restore(self, table, level).await;
        done
    }

    async fn lapse(&mut self, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
        check_outside(self)?;
        let level = make_durable(self, overdue.table)
            .await
            .map_err(rolled_back)?;
        let done = lapse(self, overdue).await;
        restore(self, overdue.table, level).await;
        done
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
        let mut query = sqlx::query(AssertSqlSafe(sql::lease::unknown(page)))
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
        let found = sqlx::query_scalar(AssertSqlSafe(sql::lease::count_unknown(table)))
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
        request: &SqliteClaimRequest,
        record: &NewRecord<'_>,
        take_over: bool,
        lease: Lease,
    ) -> Result<bool, Error> {
        let replaces = record.replaces.is_some();
        let statement = sql::lease::upsert(request, record.format, replaces, take_over);
        let result = sqlx::query(AssertSqlSafe(statement))
            .bind(request.identity.namespace())
            .bind(request.identity.scope().as_str())
            .bind(request.identity.key().as_str())
            .bind(lease.micros())
            .bind(request.attempt_id.as_uuid())
            .bind(record.attempt)
            .bind(record.operation)
            .bind(
                record
                    .fingerprint
                    .as_ref()
                    .map(|hash| hash.as_bytes().as_slice()),
            )
            .bind(record.request)
            .bind(lease.on_lapse().code())
            .bind(record.replaces.map(AttemptId::as_uuid))
            .execute(&mut *self)
            .await;
        match result {
            Ok(done) if done.rows_affected() == 1 => Ok(true),
            Ok(_) if replaces => Ok(false),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if error::is_conflict(&error) && !replaces => {
                found_reclaimable(self, request, error)
                    .await
                    .map(|()| false)
            }
            Err(error) => Err(error::map_error(error)),
        }
    }

    async fn update_row(
        &mut self,
        request: &SqliteClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, Error> {
        let statement = sql::lease::update(request, (write.change, write.codec));
        let mut query = sqlx::query(AssertSqlSafe(statement))
            .bind(request.identity.namespace())
            .bind(request.identity.scope().as_str())
            .bind(request.identity.key().as_str())
            .bind(write.expected.as_uuid())
            .bind(write.becomes.as_uuid());
        let (lasts, payload) = values_of(write.change);
        if lasts {
            query = query.bind(write.lasts);
        }
        if payload {
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
    request: &SqliteClaimRequest,
    lease_request: &LeaseRequest<'_>,
) -> Result<Leased, CommitError> {
    let mut tx = begin(conn).await?;
    let decided = match look_as_writer(&mut tx, request).await {
        Ok(mut found) => {
            found.lookup.lock = Lock::Granted;
            decided(&mut *tx, found, lease_request).await
        }
        Err(error) => Err(error),
    };
    end(tx, decided).await
}

async fn update(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    write: &Write<'_>,
) -> Result<bool, CommitError> {
    let mut tx = begin(conn).await?;
    let done = tx.update_row(request, write).await;
    end(tx, done.map(|done| (done, done))).await
}

/// Extends leases. Under the write lock nobody else has locked a record: a lease that is not extended is lost.
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
    let statement = sql::lease::extend(table, due.len());
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
    let statement = sql::lease::lapse(overdue);
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

async fn begin(conn: &mut SqliteConnection) -> Result<Transaction<'_, Sqlite>, CommitError> {
    conn.begin_with(sql::BEGIN_TO_WRITE)
        .await
        .map_err(|error| CommitError::RolledBack(error::begin_error(error)))
}

fn rolled_back(error: Error) -> CommitError {
    CommitError::RolledBack(error)
}
