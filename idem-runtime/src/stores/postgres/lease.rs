//! Leases on PostgreSQL: each write in its own transaction, flushed before it is answered.
//!
//! [`lease_message`] has what takes one message. A claim that replaces a record, or comes before the table has been
//! verified, takes several: BEGIN with the lock; look-up; write; COMMIT. So does a write whose payload is large.

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, Transaction};

use super::super::backend::Backend as _;
use super::super::lapsed::{Page, UnknownRecord};
use super::super::lease::{
    Due, Extended, LeaseRequest, LeaseSession, LeaseStatements, Leased, Overdue, Write,
    check_outside, decided, end,
};
use super::super::session::{CommitError, NewRecord};
use super::claim::PgClaimRequest;
use super::statement::Statement;
use super::unit::lock_answer;
use super::{error, keeps_statements, lease_message, look, row, sql};
use crate::values::error::Error;
use crate::values::policy::Lease;
use crate::values::record::AttemptId;

/// The longest payload that is sent in the text of a message, where each byte takes two: 1 MiB.
const PAYLOAD_IN_TEXT: usize = 1024 * 1024;

impl LeaseSession for PgConnection {
    async fn acquire(
        &mut self,
        request: &PgClaimRequest,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        check_outside(self)?;
        // That message claims a free key, which is not to be claimed here.
        if lease_request.takes_over.is_none()
            && let Some(leased) = lease_message::claim(self, request, lease_request).await?
        {
            return Ok(leased);
        }
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
        request: &PgClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, CommitError> {
        check_outside(self)?;
        let payload = write.result.or(write.failure).unwrap_or_default().len();
        if payload <= PAYLOAD_IN_TEXT {
            return lease_message::write(self, request, write).await;
        }
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
        check_outside(self)?;
        let mut extended = Extended {
            extended: lease_message::extend(self, table, due).await?,
            ..Extended::default()
        };
        let missing = extended.missing(due);
        if !missing.is_empty() {
            // Tells a locked record from a lost lease. The number of values is that of the leases, so the
            // statement is not kept prepared.
            let statement = Statement::new(sql::lease::held(table, &missing), false);
            let rows = statement.fetch_all(self).await;
            extended.locked = rows
                .map_err(|error| error::table_error(error, table, "SELECT"))
                .and_then(|rows| lease_message::ids(&rows))
                .map_err(CommitError::RolledBack)?;
        }
        Ok(extended)
    }

    async fn lapse(&mut self, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
        check_outside(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_update())).await {
            Ok(tx) => return lapse(tx, overdue).await,
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
        let mut statement = Statement::new(sql::lease::unknown(page), false)
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
        let row = Statement::new(sql::lease::count_unknown(table), false)
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
        request: &PgClaimRequest,
        record: &NewRecord<'_>,
        take_over: bool,
        lease: Lease,
    ) -> Result<bool, Error> {
        let table = &request.table;
        let replaces = record.replaces.is_some();
        let statement = sql::lease::upsert(request, record.format, replaces, take_over);
        let named = keeps_statements(self, request);
        let result = Statement::new(statement, named)
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
            .execute(self)
            .await;
        match result {
            Ok(done) if done.rows_affected() == 1 => Ok(true),
            Ok(_) if replaces => Ok(false),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if error::is_our_conflict(&error, table) => Ok(false),
            Err(error) => Err(error::table_error(error, table, "SELECT, INSERT, UPDATE")),
        }
    }

    async fn update_row(
        &mut self,
        request: &PgClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, Error> {
        let named = keeps_statements(self, request);
        let done = lease_message::update(request, write, named)
            .execute(self)
            .await
            .map_err(|error| error::table_error(error, &request.table, "SELECT, UPDATE"))?;
        Ok(done.rows_affected() == 1)
    }
}

async fn acquire(
    mut tx: Transaction<'_, Postgres>,
    request: &PgClaimRequest,
    lease_request: &LeaseRequest<'_>,
) -> Result<Leased, CommitError> {
    let found = look(&mut tx, request)
        .await
        .and_then(|(mut found, claims)| {
            found.lookup.lock = lock_answer(&claims, request).ok_or(Error::AlreadyInTransaction)?;
            Ok(found)
        });
    let decided = match found {
        Ok(found) => decided(&mut *tx, found, lease_request).await,
        Err(error) => Err(error),
    };
    end(tx, decided).await
}

async fn lapse(
    mut tx: Transaction<'_, Postgres>,
    overdue: &Overdue<'_>,
) -> Result<u64, CommitError> {
    let table = overdue.table;
    let done = Statement::new(sql::lease::lapse(overdue), false)
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

/// Rolls back a batch that failed after its BEGIN, and returns its error.
async fn not_begun(conn: &mut PgConnection, error: sqlx::Error) -> CommitError {
    Postgres::clear(conn).await;
    CommitError::RolledBack(error::begin_error(error))
}
