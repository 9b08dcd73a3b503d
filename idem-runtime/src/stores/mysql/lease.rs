//! Leases on MySQL and MariaDB: each write in its own transaction.
//!
//! A key that this process has not met is claimed by one INSERT that commits itself, if the table is known to be fit
//! where the pool connects to; and the end of a lease is one UPDATE that does. A future that is dropped leaves no
//! transaction open.
//!
//! The order of any other claim: the look-up of atomic mode, which takes no lock that outlives it; the decision; BEGIN;
//! one INSERT, or one UPDATE that compares the record with the one that was seen; COMMIT. If another attempt
//! was quicker between look-up and write, the primary key or the comparison stops this one, and the claim looks
//! again. The row lock of an atomic attempt in flight stops it too; nothing here waits for that lock.
//!
//! COMMIT is as durable as the server makes it: no session can set `innodb_flush_log_at_trx_commit`. With
//! another value than 1 a crash may lose a claim whose effect has happened.

use std::collections::HashSet;

use sqlx::mysql::{MySql, MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _, Transaction};

use super::super::backend::Backend as _;
use super::super::lapsed::{Page, UnknownRecord};
use super::super::lease::{
    Due, Extended, LeaseRequest, LeaseSession, LeaseStatements, Leased, Overdue, Plan, Write,
    check_outside, decided, end,
};
use super::super::session::{CommitError, NewRecord};
use super::claim::{MySqlClaimRequest, seen_nothing};
use super::placeholder::found_reclaimable;
use super::{
    alone, clock, error, fits, fused, last, look_up_before_begin, message, record, row, rows, sql,
    verify,
};
use crate::decision::{Decision, KeyBefore, Lock};
use crate::values::error::Error;
use crate::values::policy::{DEFAULT_RETRY_AFTER, Lease};
use crate::values::record::AttemptId;

/// The most leases that one statement extends: 500.
const AT_ONCE: usize = 500;

impl LeaseSession for MySqlConnection {
    async fn acquire(
        &mut self,
        request: &MySqlClaimRequest,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        check_outside(self)?;
        if let Some(leased) = claim_alone(self, request, lease_request).await? {
            return Ok(leased);
        }
        let found = match look_up_before_begin(self, request).await {
            Ok(Some(found)) => found,
            Ok(None) => return Err(CommitError::RolledBack(Error::AlreadyInTransaction)),
            Err(error) => return Err(CommitError::RolledBack(error)),
        };
        if let Plan::Answer(leased) = lease_request.plan(found.lookup.clone()) {
            return Ok(leased);
        }
        let mut tx = begin(self).await?;
        let done = decided(&mut *tx, found, lease_request).await;
        match end(tx, done).await {
            Err(CommitError::RolledBack(refusal @ Error::InFlight { .. })) => {
                Ok(Leased::Decided(Decision::Refuse(refusal)))
            }
            taken => taken,
        }
    }

    async fn update(
        &mut self,
        request: &MySqlClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, CommitError> {
        check_outside(self)?;
        let alone = sql::fused::write_alone(&sql::update(request, write));
        match message::write(self, alone).await {
            Ok((_, changed)) => return Ok(changed == 1),
            Err(error) if error::is_unmet(&error) => {}
            Err(error) if error::is_ambiguous_alone(&error) => {
                return Err(CommitError::Ambiguous(error));
            }
            Err(error) => {
                let refusal = error::table_error(error, &request.table);
                return Err(CommitError::RolledBack(refusal));
            }
        }
        let mut tx = begin(self).await?;
        let done = tx.update_row(request, write).await;
        end(tx, done.map(|done| (done, done))).await
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check_outside(self)?;
        let mut extended = Extended::default();
        // As many as fit into one message of any server.
        for due in due.chunks(AT_ONCE) {
            let mut tx = begin(self).await?;
            let done = extend(&mut tx, table, due).await;
            let done = end(tx, done.map(|done| (done, true))).await?;
            extended.extended.extend(done.extended);
            extended.locked.extend(done.locked);
        }
        Ok(extended)
    }

    async fn lapse(&mut self, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
        check_outside(self)?;
        let now = clock(self).await.map_err(CommitError::RolledBack)?;
        let mut tx = begin(self).await?;
        let statement = sql::lapse(overdue, now);
        let done = run(&mut tx, statement)
            .await
            .map_err(|error| error::table_error(error, overdue.table));
        end(tx, done.map(|lapsed| (lapsed, lapsed > 0))).await
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
        let found = alone(self, sql::unknown(page))
            .await
            .map_err(|error| error::table_error(error, page.table))?;
        let mut listed = Vec::with_capacity(found.len());
        for found in found {
            if let Some(record) = row::record(&found)? {
                listed.push(UnknownRecord {
                    scope: row::text(&found, "scope")?,
                    key: row::text(&found, "key")?,
                    record,
                });
            }
        }
        Ok(listed)
    }

    async fn count_unknown(&mut self, table: &str, namespace: &str) -> Result<u64, Error> {
        let found = alone(self, sql::count_unknown(table, namespace))
            .await
            .map_err(|error| error::table_error(error, table))?;
        let found: i64 = last(found)?.try_get("found").map_err(error::map_error)?;
        Ok(found.unsigned_abs())
    }
}

impl LeaseStatements for MySqlConnection {
    async fn upsert(
        &mut self,
        request: &MySqlClaimRequest,
        record: &NewRecord<'_>,
        take_over: bool,
        lease: Lease,
    ) -> Result<bool, Error> {
        match run(self, sql::upsert(request, record, take_over, lease)).await {
            Ok(1) => Ok(true),
            Ok(_) if record.replaces.is_some() => Ok(false),
            Ok(_) => Err(Error::RecordNotWritten),
            // An UPDATE leaves the key as it is, so it cannot meet a duplicate.
            Err(error) if error::is_conflict(&error) && record.replaces.is_none() => {
                found_reclaimable(self, request, error).await.map(|_| false)
            }
            Err(error) if error::is_locked(&error) => Err(Error::in_flight(DEFAULT_RETRY_AFTER)),
            Err(error) => Err(error::table_error(error, &request.table)),
        }
    }

    async fn update_row(
        &mut self,
        request: &MySqlClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, Error> {
        match run(self, sql::update(request, write)).await {
            Ok(changed) => Ok(changed == 1),
            Err(error) => Err(error::table_error(error, &request.table)),
        }
    }
}

/// Claims a key that this process has not met by one INSERT that commits itself, where the table is known to be fit.
/// Returns `None` if there is more to decide: then a look-up tells, also whether this INSERT stands.
async fn claim_alone(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
    lease_request: &LeaseRequest<'_>,
) -> Result<Option<Leased>, CommitError> {
    let Some(fit_in) = fused::fit_in(request).filter(|_| fused::is_fresh(request)) else {
        return Ok(None);
    };
    let found = seen_nothing(request, Lock::NotAsked);
    let Plan::Write { record, .. } = lease_request.plan(found.lookup) else {
        return Ok(None);
    };
    let text = sql::fused::claim_lease(request, &record, lease_request.lease, &fit_in);
    let sent = message::write(conn, text).await;
    // From here on a look-up answers sooner.
    fused::remember(request);
    let definition = match sent {
        Ok((rows, 1)) => rows.last().map(verify::text).unwrap_or_default(),
        Ok(_) => return Err(CommitError::RolledBack(Error::RecordNotWritten)),
        Err(error) if error::is_ambiguous_alone(&error) => {
            return Err(CommitError::Ambiguous(error));
        }
        Err(_) => return Ok(None),
    };
    if !verify::is_known(&request.table, &definition, &fit_in) {
        let mut claim = found.claim;
        claim.dialect.database_path = Some(fit_in);
        if let Err(unfit) = record::verify_behind(conn, &claim).await {
            // If this fails, the lease lapses.
            let _ = run(conn, sql::fused::withdraw_lease(request)).await;
            return Err(CommitError::RolledBack(unfit));
        }
    }
    let attempt = record.attempt;
    Ok(Some(Leased::Taken {
        attempt,
        before: KeyBefore::Unused,
    }))
}

/// Locks the leases' records that are free and extends them: UPDATE itself knows no SKIP LOCKED. If any is not
/// free, tells a locked record from a lost lease.
async fn extend(
    tx: &mut Transaction<'_, MySql>,
    table: &str,
    due: &[Due<'_>],
) -> Result<Extended, Error> {
    let mut extended = Extended {
        extended: ids(tx, sql::held(table, due, "FOR UPDATE SKIP LOCKED"), table).await?,
        ..Extended::default()
    };
    let free = |due: &&Due<'_>| extended.extended.contains(&due.attempt_id);
    let free: Vec<_> = due.iter().filter(free).copied().collect();
    if !free.is_empty() {
        run(tx, sql::extend(table, &free))
            .await
            .map_err(|error| error::table_error(error, table))?;
    }
    let missing = extended.missing(due);
    if !missing.is_empty() {
        extended.locked = ids(tx, sql::held(table, &missing, ""), table).await?;
    }
    Ok(extended)
}

async fn ids(
    tx: &mut Transaction<'_, MySql>,
    statement: String,
    table: &str,
) -> Result<HashSet<AttemptId>, Error> {
    let found = rows(tx, statement)
        .await
        .map_err(|error| error::table_error(error, table))?;
    let id = |row: &MySqlRow| row.try_get("attempt_id").map(AttemptId::from_uuid);
    found
        .iter()
        .map(id)
        .collect::<Result<_, _>>()
        .map_err(error::map_error)
}

/// Sends one statement and returns the number of rows that it affected.
async fn run(conn: &mut MySqlConnection, text: String) -> Result<u64, sqlx::Error> {
    fits(conn, &text).await?;
    let done = conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await?;
    Ok(done.rows_affected())
}

async fn begin(conn: &mut MySqlConnection) -> Result<Transaction<'_, MySql>, CommitError> {
    // If this fails, nothing was begun, or the connection is lost.
    MySql::open_plain(conn)
        .await
        .map_err(CommitError::RolledBack)
}
