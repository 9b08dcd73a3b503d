//! The output of a run.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use idem_tests::torture::Fault;

use super::arena::{Outcome, Plan};

/// The number of violations that are printed; the folder that is kept holds all.
const SHOWN: usize = 40;

/// The figures of a run.
#[derive(Debug)]
pub struct Report<'o> {
    /// The engine's name.
    pub engine: &'o str,
    /// The plan of the run.
    pub plan: &'o Plan,
    /// The result of the run.
    pub outcome: &'o Outcome,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome {
            evidence,
            blows,
            violations,
            took: (called, drained),
            ..
        } = self.outcome;
        let tables = &evidence.tables;
        writeln!(
            f,
            "messages on {} and NATS, seed {}: {} events in {} s and {} s more",
            self.engine,
            self.plan.seed,
            tables.rows.len(),
            called.as_secs(),
            drained.as_secs(),
        )?;
        writeln!(
            f,
            "  calls: {} of {} answered",
            evidence.answered, evidence.calls
        )?;
        writeln!(f, "  faults: {}", blows.values().sum::<u64>())?;
        for (kind, count) in blows {
            writeln!(f, "    {count:>8}  {kind}")?;
        }
        let ids: BTreeSet<_> = evidence.publications.iter().map(|one| &one.event).collect();
        writeln!(
            f,
            "  published: {}, {} of them again; attempts: {}",
            evidence.publications.len(),
            evidence.publications.len() - ids.len(),
            tables.rows.iter().map(|row| row.attempts).sum::<i64>(),
        )?;
        writeln!(
            f,
            "  effects of consumers: {} booked, {} shown",
            tables.booked.len(),
            tables.shown.len()
        )?;
        writeln!(f, "  violations: {}", violations.len())?;
        for violation in violations.iter().take(SHOWN) {
            writeln!(f, "    {violation}")?;
        }
        Ok(())
    }
}

/// Keeps the logs, what remained, and the violations of a run. Returns their folder.
///
/// # Errors
///
/// Returns errors of the file system.
pub fn keep(outcome: Outcome) -> Result<PathBuf, Fault> {
    let path = outcome.logs.keep();
    let evidence = serde_json::to_vec_pretty(&outcome.evidence)?;
    fs::write(path.join("evidence.json"), evidence)?;
    let lines: Vec<_> = outcome.violations.iter().map(ToString::to_string).collect();
    fs::write(path.join("violations.txt"), lines.join("\n"))?;
    Ok(path)
}
