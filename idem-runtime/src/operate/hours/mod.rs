//! Counts what was written in each of the last hours, through the indexes on times.
//!
//! No index has the time of a record's write, because every call would pay for it. Leases and unknown outcomes have an
//! index of their own. Of ended records, those of one hour are found where their retention ends: the retentions in use are
//! looked for first, and then a part of each quarter of an hour is read.

mod slices;
mod tally;

use self::slices::{retentions, slices};
use self::tally::Tally;
use super::error::OperateError;
use super::operator::Operator;
use super::read::{ended, last_expiry, leases};
use crate::stores::operate::{Dialect, OperateBackend, OperateSession, clock};
use crate::values::record::Timestamp;

/// The microseconds of an hour.
const HOUR: i64 = 3_600_000_000;

/// The most hours that are looked back.
const MAX_HOURS: u32 = 48;

/// As many rows are counted one by one.
const COUNTED: u64 = 10_000;

/// The records that were written in one hour and are still kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HourCount {
    /// The records, of any status.
    pub runs: u64,
    /// How many of them are recorded failures.
    pub failures: u64,
    /// How many of them are of unknown outcome.
    pub unknown: u64,
}

/// The records of the last hours, by the hour in which they were written. What was purged since is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hours {
    /// The beginning of the first hour.
    pub begin: Timestamp,
    /// An entry for each hour, the oldest first.
    pub counts: Vec<HourCount>,
    /// Whether `runs` and `failures` are estimates, made from a part of the records.
    pub is_estimate: bool,
    /// Whether there were more unknown outcomes and leases than are counted: 10,000.
    pub is_cut: bool,
    /// The database's clock when they were counted.
    pub read_at: Timestamp,
}

impl<DB: OperateBackend> Operator<DB> {
    /// Counts the records that were written in the last `hours` hours, 1 to 48, this one among them. If the table has more
    /// than 10,000 ended records, their numbers are estimates. Reads ranges of the indexes, and some 40,000 records at most.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn hours(&self, hours: u32) -> Result<Hours, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self
            .hours_on(&mut pooled.conn, hours.clamp(1, MAX_HOURS))
            .await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn hours_on(&self, conn: &mut DB::Connection, hours: u32) -> Result<Hours, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let first = now.as_micros().div_euclid(HOUR) - i64::from(hours) + 1;
        let mut tally = Tally::new(first, hours);

        let (condition, order) = (leases(&dialect), "locked_until DESC");
        let rows = self.counted(&dialect, &condition, order);
        let rows = conn.cells(rows, &self.table).await?;
        let is_cut = tally.add_all(&rows) > COUNTED;

        let condition = ended(&dialect, last_expiry(now));
        let mut complete = Tally::new(first, hours);
        let rows = self.counted(&dialect, &condition, "expires_at");
        let rows = conn.cells(rows, &self.table).await?;
        let is_estimate = complete.add_all(&rows) > COUNTED;
        if is_estimate {
            let sampled = self.sampled(conn, now, first, hours).await?;
            tally.join(sampled);
        } else {
            tally.join(complete);
        }
        Ok(Hours {
            begin: Timestamp::from_micros(first * HOUR),
            counts: tally.into_counts(),
            is_estimate,
            is_cut,
            read_at: now,
        })
    }

    /// Counts the first rows by hour and status.
    fn counted(&self, dialect: &Dialect, condition: &str, order: &str) -> String {
        format!(
            "SELECT {}, {}, {} FROM (SELECT {} AS written, status FROM {} WHERE {condition} ORDER BY {order} LIMIT {}) \
             AS found GROUP BY written, status",
            dialect.number_cell("written"),
            dialect.number_cell("status"),
            dialect.number_cell("count(*)"),
            dialect.hour("created_at"),
            self.full_table(),
            COUNTED + 1,
        )
    }

    /// Estimates the ended records by a part of them.
    async fn sampled(
        &self,
        conn: &mut DB::Connection,
        now: Timestamp,
        first: i64,
        hours: u32,
    ) -> Result<Tally, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = slices::probes(&dialect, &self.full_table(), now, first * HOUR);
        let found = conn.cells(statement, &self.table).await?;
        let mut tally = Tally::new(first, hours);
        let slices = slices(&retentions(&found), first, hours);
        for some in slices.groups() {
            let statement = slices.statement(&dialect, &self.full_table(), some);
            let rows = conn.cells(statement, &self.table).await?;
            tally.add_sliced(&rows, some, slices.limit);
        }
        let statement = dialect.row_estimate(&self.table);
        let rows = conn.cells(statement, &self.table).await?;
        let all = rows.first().and_then(|row| row.number(0));
        tally.bound(all.unwrap_or_default());
        Ok(tally)
    }
}
