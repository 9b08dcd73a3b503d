//! Counts records.

use super::error::OperateError;
use super::operator::Operator;
use super::status::StoredStatus;
use crate::stores::Session as _;
use crate::stores::hold::hold_table_of;
use crate::stores::operate::{Cells, OperateBackend, OperateSession, clock};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// The records of one namespace, operation and status.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// The namespace.
    pub namespace: String,
    /// The operation; empty for a claim without a record.
    pub operation: String,
    /// The status.
    pub status: StoredStatus,
    /// The number of records.
    pub records: u64,
    /// How many of them are leases that ended without an end of their attempt.
    pub lapsed: u64,
    /// How many of them are past their retention.
    pub expired: u64,
    /// How many of those are under a legal hold, which a purge leaves.
    pub held: u64,
    /// The bytes of their requests, results and failures.
    pub payload_bytes: u64,
    /// When the oldest was written.
    pub oldest: Option<Timestamp>,
    /// When the newest was written.
    pub newest: Option<Timestamp>,
}

/// The records of a table, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// By namespace, operation and status.
    pub counts: Vec<Count>,
    /// The database's clock when they were counted.
    pub read_at: Timestamp,
}

impl<DB: OperateBackend> Operator<DB> {
    /// Counts the records of the table. Reads all of it.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn stats(&self) -> Result<Stats, OperateError> {
        self.count("1 = 1", true).await
    }

    /// Counts the records that are past their retention now: a purge deletes them, but for those under a legal hold.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn count_expired(&self) -> Result<Stats, OperateError> {
        let mut stats = self.count("status IN (1, 2, 5)", true).await?;
        stats.counts.retain(|count| count.expired > 0);
        Ok(stats)
    }

    /// Counts as [`stats`](Self::stats) does, also for an account that may not read the legal holds.
    pub(super) async fn stats_or_without_holds(&self) -> Result<Stats, OperateError> {
        match self.stats().await {
            Err(OperateError::Library(Error::PermissionDenied { .. } | Error::Database(_))) => {
                self.count("1 = 1", false).await
            }
            stats => stats,
        }
    }

    async fn count(&self, condition: &str, asks_holds: bool) -> Result<Stats, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.count_on(&mut pooled.conn, condition, asks_holds).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn count_on(
        &self,
        conn: &mut DB::Connection,
        condition: &str,
        asks_holds: bool,
    ) -> Result<Stats, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let moment = dialect.time(now);
        let sum = |condition: String| {
            dialect.number_cell(&format!("sum(CASE WHEN {condition} THEN 1 ELSE 0 END)"))
        };
        let payloads = ["request", "result", "failure"]
            .map(|column| format!("coalesce({}, 0)", dialect.length(column)))
            .join(" + ");
        let expired = format!("status IN (1, 2, 5) AND expires_at <= {moment}");
        let held = if asks_holds && conn.has_holds(&self.table).await? {
            let holds = dialect.table(&hold_table_of(&self.table));
            sum(format!(
                "{expired} AND scope IN (SELECT scope FROM {holds})"
            ))
        } else {
            dialect.number_cell("0")
        };
        let columns = [
            dialect.text_cell("namespace"),
            dialect.text_cell("operation"),
            dialect.number_cell("status"),
            dialect.number_cell("count(*)"),
            sum(format!("status = 3 AND locked_until <= {moment}")),
            sum(expired),
            dialect.number_cell(&format!("sum({payloads})")),
            dialect.time_cell("min(created_at)"),
            dialect.time_cell("max(created_at)"),
            held,
        ];
        let statement = format!(
            "SELECT {} FROM {} WHERE {condition} GROUP BY namespace, operation, status \
             ORDER BY namespace, operation, status",
            columns.join(", "),
            self.full_table(),
        );
        let rows = conn.cells(statement, &self.table).await?;
        Ok(Stats {
            counts: rows.iter().map(count).collect(),
            read_at: now,
        })
    }
}

fn count(row: &Cells) -> Count {
    let name = |column| row.text(column).unwrap_or_default().to_owned();
    let number = |column| {
        row.number(column)
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or_default()
    };
    let code = row.number(2).and_then(|code| i16::try_from(code).ok());
    Count {
        namespace: name(0),
        operation: name(1),
        status: StoredStatus::from_code(code.unwrap_or(-1)),
        records: number(3),
        lapsed: number(4),
        expired: number(5),
        held: number(9),
        payload_bytes: number(6),
        oldest: row.time(7),
        newest: row.time(8),
    }
}
