//! What is waiting for somebody, and whether records live long enough.

use std::time::Duration;

use super::Examination;
use crate::operate::count::{Count, Stats};
use crate::operate::error::OperateError;
use crate::operate::hold::Hold;
use crate::operate::operator::Operator;
use crate::operate::statement::cells;
use crate::operate::status::StoredStatus;
use crate::stores::doctor::{Finding, Severity};
use crate::stores::operate::{OperateBackend, OperateSession};

/// How many expired records a table may have between two sweeps of the default interval.
const EXPIRED: u64 = 100_000;

pub(super) fn contents(stats: &Stats) -> Vec<Finding> {
    let mut found = Vec::new();
    let sum = |count: &dyn Fn(&Count) -> u64| -> u64 { stats.counts.iter().map(count).sum() };
    let of = |status| {
        sum(&move |count| {
            if count.status == status {
                count.records
            } else {
                0
            }
        })
    };
    let unknown = of(StoredStatus::UNKNOWN);
    if unknown > 0 {
        found.push(Finding::new(
            Severity::Warning,
            "unknown",
            format!("unknown outcomes: {unknown}; their keys are blocked until somebody asks the provider"),
            "idem list --status unknown, then idem resolve",
        ));
    }
    let lapsed = sum(&|count| count.lapsed);
    if lapsed > 0 {
        found.push(Finding::new(
            Severity::Warning,
            "lapsed",
            format!("leases that lapsed, and whose keys nobody has asked for since: {lapsed}"),
            "idem list --lapsed, then idem resolve or idem release",
        ));
    }
    let claimed = of(StoredStatus::CLAIMED);
    if claimed > 0 {
        found.push(Finding::new(
            Severity::Fault,
            "claimed",
            format!("claims that bodies have committed without a record: {claimed}; their effects may have happened"),
            "idem list --status claimed; check the effect, then idem release",
        ));
    }
    let expired = sum(&|count| count.expired.saturating_sub(count.held));
    if expired > EXPIRED {
        found.push(Finding::new(
            Severity::Warning,
            "purge",
            format!(
                "records past their retention: {expired}; the purge does not run, or is behind"
            ),
            "run a PurgeWorker in one service; at once: idem purge",
        ));
    }
    found
}

/// Says how many legal holds there are, or that this account cannot read them and so deletes nothing.
pub(super) fn held(holds: Result<Vec<Hold>, OperateError>) -> Option<Finding> {
    match holds {
        Err(OperateError::HoldTable { .. }) => None,
        Ok(holds) if holds.is_empty() => None,
        Ok(holds) => Some(Finding::new(
            Severity::Note,
            "holds",
            format!(
                "scopes under a legal hold: {}; their records outlive their retention",
                holds.len()
            ),
            "idem hold list",
        )),
        Err(error) => Some(Finding::new(
            Severity::Fault,
            "holds",
            format!("this account cannot read the legal holds, and its purges fail: {error}"),
            "GRANT SELECT on idem_hold and SELECT, UPDATE on idem_hold_lock",
        )),
    }
}

impl<DB: OperateBackend> Operator<DB> {
    /// Compares the shortest retention of each operation with the time in which the broker may deliver again.
    pub(super) async fn retention(
        &self,
        examination: &Examination,
    ) -> Result<Vec<Finding>, OperateError> {
        let Some(window) = examination.broker_window else {
            return Ok(Vec::new());
        };
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "SELECT {}, {}, {} FROM {} WHERE status IN (1, 2) GROUP BY namespace, operation ORDER BY namespace, operation",
            dialect.text_cell("namespace"),
            dialect.text_cell("operation"),
            dialect.number_cell(&dialect.span("min(expires_at - created_at)")),
            self.full_table(),
        );
        let (rows, _) = cells(&self.pool, statement, &self.table).await?;
        let shorter = rows.iter().filter_map(|row| {
            let retention = Duration::from_micros(u64::try_from(row.number(2)?).ok()?);
            (retention <= window).then(|| {
                Finding::new(
                    Severity::Warning,
                    "retention",
                    format!(
                        "`{}` of {} keeps records for {} s, and the broker may deliver again after {} s: a message that comes \
                         later than the record lives runs twice",
                        row.text(1).unwrap_or_default(),
                        row.text(0).unwrap_or_default(),
                        retention.as_secs(),
                        window.as_secs(),
                    ),
                    "retention = \"..\" above the broker's window, for this operation",
                )
            })
        });
        Ok(shorter.collect())
    }
}
