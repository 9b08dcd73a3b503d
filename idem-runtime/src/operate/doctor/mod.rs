//! Examines a database: settings, rights, tables, and what is waiting for somebody.

mod contents;
mod rights;

use std::time::{Duration, SystemTime};

use self::contents::{contents, held};
use self::rights::rights;
use super::error::OperateError;
use super::operator::Operator;
use super::schema;
use crate::stores::doctor::{Facts, Finding, Severity};
use crate::stores::operate::{OperateBackend, OperateSession, clock};
use crate::stores::schema::verify_table;
use crate::values::error::Error;

/// The difference of two clocks that is reported.
const SKEW: Duration = Duration::from_secs(2);

/// What an examination is to know besides.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Examination {
    /// How long the broker may deliver a message again.
    pub broker_window: Option<Duration>,
}

impl Examination {
    /// Sets how long the broker may deliver a message again: a record must live longer.
    #[must_use]
    pub fn broker_window(mut self, window: Duration) -> Self {
        self.broker_window = Some(window);
        self
    }
}

impl<DB: OperateBackend> Operator<DB> {
    /// Examines the database, and returns what was found, the worst first. Reads all of the table, and changes nothing.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse, if it
    /// answers nothing at all. What an account may not ask is left out.
    pub async fn examine(&self, examination: &Examination) -> Result<Vec<Finding>, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.examine_on(&mut pooled.conn).await;
        pooled.give_back(done.is_ok()).await;
        let (mut found, exists) = done?;
        if exists {
            let mut pooled = self.conn().await?;
            let lacking = rights::<DB>(&mut pooled.conn, &self.table).await;
            pooled.give_back(lacking.is_ok()).await;
            found.extend(lacking?);
            found.extend(contents(&self.stats_or_without_holds().await?));
            found.extend(self.retention(examination).await?);
        }
        if exists {
            found.extend(held(self.holds().await));
        }
        if let Err(OperateError::AuditTable { table, found: why }) =
            schema::verify(&self.pool, &self.table).await
        {
            found.push(Finding::new(
                Severity::Warning,
                "audit",
                format!("`{table}` cannot take a row ({why}): nothing can be changed by hand"),
                "run the migration of `idem schema print --only audit`",
            ));
        }
        if <DB::Connection as OperateSession>::is_behind_pooler(&self.pool).await == Some(true) {
            found.push(Finding::new(
                Severity::Note,
                "pooler",
                "a pooler stands before the server: in transaction mode it breaks named statements",
                "in the service: statement_cache_capacity(0), and .persistent(false) in bodies",
            ));
        }
        found.sort_by_key(|finding| finding.severity);
        Ok(found)
    }

    /// Returns findings of the server and of the table, and whether the table is there.
    async fn examine_on(
        &self,
        conn: &mut DB::Connection,
    ) -> Result<(Vec<Finding>, bool), OperateError> {
        let mut found = Vec::new();
        let before = SystemTime::now();
        let now = SystemTime::from(clock(conn, &self.table).await?);
        found.extend(skew(before, now, SystemTime::now()));
        let mut facts = Facts::default();
        for statement in <DB::Connection as OperateSession>::facts(&self.table) {
            // What this account may not ask, or this table does not have, is left out.
            for row in conn.cells(statement, &self.table).await.unwrap_or_default() {
                if let (Some(name), Some(value)) = (row.text(0), row.text(1)) {
                    facts.insert(name, value);
                }
            }
        }
        let exists = match verify_table(&mut *conn, &self.table).await {
            Ok(findings) => {
                found.extend(findings.into_iter().map(|finding| {
                    Finding::new(
                        Severity::Note,
                        "table",
                        finding.to_string(),
                        "see the finding",
                    )
                }));
                true
            }
            Err(Error::Schema(fault)) => {
                let mend = fault
                    .fix()
                    .unwrap_or("run the migration of `idem schema print`");
                let mend = mend.to_owned();
                found.push(Finding::new(
                    Severity::Fault,
                    "table",
                    fault.to_string(),
                    mend,
                ));
                false
            }
            Err(error) => return Err(error.into()),
        };
        if exists {
            found.extend(<DB::Connection as OperateSession>::diagnose(
                &facts,
                &self.table,
            ));
        }
        Ok((found, exists))
    }
}

/// The clock of the server is between two readings of ours, unless one of them is wrong.
fn skew(before: SystemTime, now: SystemTime, after: SystemTime) -> Option<Finding> {
    let early = before.duration_since(now).unwrap_or_default();
    let late = now.duration_since(after).unwrap_or_default();
    let skew = early.max(late);
    (skew > SKEW).then(|| {
        Finding::new(
            Severity::Note,
            "clock",
            format!(
                "the clocks of the server and of this machine differ by {} s: times in logs cannot be compared with those of \
                 records",
                skew.as_secs()
            ),
            "run an NTP client on both",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_between_two_readings_is_right() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(skew(at(100), at(101), at(102)), None);
        assert_eq!(skew(at(100), at(99), at(102)), None);
        for (server, seconds) in [(90, "10 s"), (112, "10 s")] {
            let found = skew(at(100), at(server), at(102)).expect("a finding");
            assert!(found.text.contains(seconds), "{found:?}");
        }
    }
}
