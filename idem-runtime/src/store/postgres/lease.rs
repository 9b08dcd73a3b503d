//! Leases on PostgreSQL: each write in a transaction of its own, flushed before it answers.

use std::collections::HashSet;

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, Transaction};

use super::super::backend::Backend as _;
use super::super::lease::{
    Due, Extended, LeaseSession, LeaseStatements, Leased, Listed, Overdue, Page, Terms, Write,
    condition, decided, lapsed, spent,
};
use super::super::session::{Ask, CommitError, Entry};
use super::statement::Statement;
use super::unit::lock_answer;
use super::{code, keeps_statements, look, row, sql};
use crate::error::Error;
use crate::fingerprint::FINGERPRINT_VERSION;
use crate::outcome::Change;
use crate::policy::Lease;
use crate::record::{AttemptId, CODEC_JSON};

const NOW: &str = "pg_catalog.clock_timestamp()";
const IDENTITY: &str = "namespace = $1 AND scope = $2 AND key = $3";

impl LeaseSession for PgConnection {
    async fn take(&mut self, ask: &Ask, terms: &Terms<'_>) -> Result<Leased, CommitError> {
        check(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_lease(ask))).await {
            Ok(tx) => return take(tx, ask, terms).await,
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn alter(&mut self, ask: &Ask, write: &Write<'_>) -> Result<bool, CommitError> {
        check(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_alter())).await {
            Ok(mut tx) => {
                let done = tx.update(ask, write).await;
                return end(tx, done.map(|done| (done, done))).await;
            }
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check(self)?;
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_alter())).await {
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
        let failed = match self.begin_with(AssertSqlSafe(sql::begin_alter())).await {
            Ok(tx) => return lapse(tx, overdue).await,
            Err(error) => error,
        };
        Err(not_begun(self, failed).await)
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<Listed>, Error> {
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
            .map_err(|error| code::fold_table(error, page.table, "SELECT"))?;
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(record) = row::record(&row, row::text)? {
                listed.push(Listed {
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
            .map_err(|error| code::fold_table(error, table, "SELECT"))?;
        Ok(found.unsigned_abs())
    }
}

impl LeaseStatements for PgConnection {
    async fn put(
        &mut self,
        ask: &Ask,
        entry: &Entry<'_>,
        take_over: bool,
        lease: Lease,
    ) -> Result<bool, Error> {
        let table = &ask.table;
        let statement = if entry.replaces.is_some() {
            let guard = if take_over {
                condition(Change::TakeOver, NOW)
            } else {
                spent(NOW)
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
        let named = keeps_statements(self, ask);
        let result = Statement::new(statement, named)
            .bind(ask.identity.namespace())
            .bind(ask.identity.scope().as_str())
            .bind(ask.identity.key().as_str())
            .bind(lease.micros())
            .bind(ask.attempt_id.as_uuid())
            .bind(entry.attempt)
            .bind(entry.status.code())
            .bind(FINGERPRINT_VERSION)
            .bind(CODEC_JSON)
            .bind(entry.operation)
            .bind(
                entry
                    .fingerprint
                    .as_ref()
                    .map(|hash| hash.as_bytes().as_slice()),
            )
            .bind(entry.request)
            .bind(entry.replaces.map(AttemptId::as_uuid))
            .bind(lease.on_lapse().code())
            .execute(self)
            .await;
        match result {
            Ok(done) if done.rows_affected() == 1 => Ok(true),
            Ok(_) if entry.replaces.is_some() => Ok(false),
            Ok(_) => Err(Error::RecordNotWritten),
            Err(error) if code::is_our_conflict(&error, table) => Ok(false),
            Err(error) => Err(code::fold_table(error, table, "SELECT, INSERT, UPDATE")),
        }
    }

    async fn update(&mut self, ask: &Ask, write: &Write<'_>) -> Result<bool, Error> {
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
            ask.table,
            change.to().code(),
            condition(change, NOW),
        );
        let named = keeps_statements(self, ask);
        let mut query = Statement::new(statement, named)
            .bind(ask.identity.namespace())
            .bind(ask.identity.scope().as_str())
            .bind(ask.identity.key().as_str())
            .bind(write.seen.as_uuid())
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
            .map_err(|error| code::fold_table(error, &ask.table, "SELECT, UPDATE"))?;
        Ok(done.rows_affected() == 1)
    }
}

async fn take(
    mut tx: Transaction<'_, Postgres>,
    ask: &Ask,
    terms: &Terms<'_>,
) -> Result<Leased, CommitError> {
    let seen = look(&mut tx, ask).await.and_then(|(mut seen, held)| {
        seen.lock = lock_answer(&held, ask).ok_or(Error::AlreadyInTransaction)?;
        Ok(seen)
    });
    let decided = match seen {
        Ok(seen) => decided(&mut *tx, seen, ask, terms).await,
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
    rows.map_err(|error| code::fold_table(error, table, "SELECT, UPDATE"))?
        .iter()
        .map(|row| row.try_get("attempt_id").map(AttemptId::from_uuid))
        .collect::<Result<_, _>>()
        .map_err(code::fold)
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
        .map_err(|error| code::fold_table(error, table, "SELECT, UPDATE"));
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
    CommitError::RolledBack(code::fold_begin(error))
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
    CommitError::RolledBack(code::fold(error))
}
