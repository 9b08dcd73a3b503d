//! What waits: leases, unknown outcomes, and what a purge has not deleted yet. Counted through the indexes, with a bound.

use super::error::OperateError;
use super::operator::Operator;
use super::read::{RecordSummary, ended, leases, name};
use super::status::StoredStatus;
use crate::stores::operate::{OperateBackend, OperateSession, clock};
use crate::values::record::Timestamp;

/// The most records that are counted.
const COUNTED: u64 = 10_000;

/// The leases among which the oldest are looked for: those that end, or ended, first.
const SEARCHED: u32 = 1_000;

/// How the leases of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseHealth {
    /// Leases that have not ended: an attempt is at work.
    pub live: u64,
    /// Leases that ended without an end of their attempt, and that no caller has met since.
    pub lapsed: u64,
    /// Outcomes that nobody knows.
    pub unknown: u64,
    /// When the attempt of the oldest live lease claimed its key.
    pub oldest_live: Option<Timestamp>,
    /// When the first of the lapsed leases ended.
    pub first_lapse: Option<Timestamp>,
    /// When the attempt of the oldest unknown outcome claimed its key.
    pub oldest_unknown: Option<Timestamp>,
    /// Whether there are more than were counted: 10,000, the first that ended.
    pub is_cut: bool,
    /// The database's clock when they were counted.
    pub read_at: Timestamp,
}

/// How far the purge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PurgeHealth {
    /// Records whose retention has ended, which the next purge deletes.
    pub expired: u64,
    /// When the retention of the first of them ended.
    pub oldest: Option<Timestamp>,
    /// Whether there are more than were counted: 10,000.
    pub is_cut: bool,
    /// The database's clock when they were counted.
    pub read_at: Timestamp,
}

impl<DB: OperateBackend> Operator<DB> {
    /// Counts leases and unknown outcomes, at most 10,000.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn lease_health(&self) -> Result<LeaseHealth, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.lease_health_on(&mut pooled.conn).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn lease_health_on(
        &self,
        conn: &mut DB::Connection,
    ) -> Result<LeaseHealth, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let statement = format!(
            "SELECT {}, {}, {}, {}, {} FROM (SELECT status, CASE WHEN locked_until <= {} THEN 1 ELSE 0 END AS ended, \
             locked_until, created_at FROM {} WHERE {} ORDER BY locked_until LIMIT {}) AS leases GROUP BY status, ended",
            dialect.number_cell("status"),
            dialect.number_cell("ended"),
            dialect.number_cell("count(*)"),
            dialect.time_cell("min(locked_until)"),
            dialect.time_cell("min(created_at)"),
            dialect.time(now),
            self.full_table(),
            leases(&dialect),
            COUNTED + 1,
        );
        let mut health = LeaseHealth {
            live: 0,
            lapsed: 0,
            unknown: 0,
            oldest_live: None,
            first_lapse: None,
            oldest_unknown: None,
            is_cut: false,
            read_at: now,
        };
        for row in conn.cells(statement, &self.table).await? {
            let count = row.number(2).map_or(0, i64::unsigned_abs);
            let is_unknown = row.number(0) == Some(i64::from(StoredStatus::UNKNOWN.code()));
            if is_unknown {
                health.unknown += count;
                health.oldest_unknown = health.oldest_unknown.into_iter().chain(row.time(4)).min();
            } else if row.number(1) == Some(1) {
                health.lapsed = count;
                health.first_lapse = row.time(3);
            } else {
                health.live = count;
                health.oldest_live = row.time(4);
            }
        }
        health.is_cut = health.live + health.lapsed + health.unknown > COUNTED;
        Ok(health)
    }

    /// Returns the leases whose attempts are the oldest, the oldest first: of the 1,000 leases that end, or ended, first. A
    /// call in a transaction has no record before its end.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn oldest_in_flight(&self, limit: u32) -> Result<Vec<RecordSummary>, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.oldest_on(&mut pooled.conn, limit).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn oldest_on(
        &self,
        conn: &mut DB::Connection,
        limit: u32,
    ) -> Result<Vec<RecordSummary>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let key = dialect.key;
        let statement = format!(
            "SELECT {}, {}, {} FROM (SELECT namespace, scope, {key}, created_at FROM {} WHERE {} AND status = {} \
             ORDER BY locked_until LIMIT {SEARCHED}) AS leases ORDER BY created_at LIMIT {limit}",
            dialect.text_cell("namespace"),
            dialect.text_cell("scope"),
            dialect.text_cell(key),
            self.full_table(),
            leases(&dialect),
            StoredStatus::IN_PROGRESS.code(),
        );
        let rows = conn.cells(statement, &self.table).await?;
        let names: Result<Vec<_>, _> = rows.iter().map(name).collect();
        let names: Vec<_> = names?.iter().map(|name| name.condition(&dialect)).collect();
        let mut records = self.named(conn, &names, now).await?;
        records.sort_by_key(|record| record.created_at);
        Ok(records)
    }

    /// Counts what a purge would delete now, at most 10,000 records.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn purge_health(&self) -> Result<PurgeHealth, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.purge_health_on(&mut pooled.conn).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn purge_health_on(
        &self,
        conn: &mut DB::Connection,
    ) -> Result<PurgeHealth, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let statement = format!(
            "SELECT {}, {} FROM (SELECT expires_at FROM {} WHERE {} ORDER BY expires_at LIMIT {}) AS expired",
            dialect.number_cell("count(*)"),
            dialect.time_cell("min(expires_at)"),
            self.full_table(),
            ended(&dialect, now),
            COUNTED + 1,
        );
        let rows = conn.cells(statement, &self.table).await?;
        let row = rows.first();
        let found = row
            .and_then(|row| row.number(0))
            .map_or(0, i64::unsigned_abs);
        Ok(PurgeHealth {
            expired: found.min(COUNTED),
            oldest: row.and_then(|row| row.time(1)),
            is_cut: found > COUNTED,
            read_at: now,
        })
    }
}
