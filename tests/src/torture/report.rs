//! The output of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use super::Fault;
use super::arena::{Outcome, Plan};
use super::history::Answer;

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

impl Report<'_> {
    /// Counts the answers by kind.
    fn answers(&self) -> BTreeMap<String, u64> {
        let mut answers = BTreeMap::new();
        for call in &self.outcome.history.calls {
            let kind = match &call.answer {
                Some(Answer::Done {
                    replayed: false, ..
                }) => "done",
                Some(Answer::Done { replayed: true, .. }) => "replayed",
                Some(Answer::Declined { .. }) => "declined for good",
                Some(Answer::Mismatch) => "refused: another request",
                Some(Answer::Forbidden(_)) => "forbidden",
                None => "none",
            };
            *answers.entry(kind.to_owned()).or_default() += 1;
        }
        answers
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome {
            history,
            tables,
            blows,
            violations,
            took,
            ..
        } = self.outcome;
        writeln!(
            f,
            "{}, seed {}: {} calls in {} s",
            self.engine,
            self.plan.seed,
            history.calls.len(),
            took.as_secs()
        )?;
        table(f, "answers", &self.answers())?;
        table(f, "tries to be repeated", &history.tries)?;
        table(f, "faults", blows)?;
        writeln!(
            f,
            "  left: {} effects, {} records",
            tables.effects.len(),
            tables.records.len()
        )?;
        writeln!(f, "  sent outside: {}", history.notices.len())?;
        writeln!(f, "  violations: {}", violations.len())?;
        for violation in violations.iter().take(SHOWN) {
            writeln!(f, "    {violation}")?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, title: &str, counts: &BTreeMap<String, u64>) -> fmt::Result {
    writeln!(f, "  {title}: {}", counts.values().sum::<u64>())?;
    for (kind, count) in counts {
        writeln!(f, "    {count:>8}  {kind}")?;
    }
    Ok(())
}

/// Keeps the logs, the tables and the violations of a run. Returns their folder.
///
/// # Errors
///
/// Returns errors of the file system.
pub fn keep(outcome: Outcome) -> Result<PathBuf, Fault> {
    let path = outcome.logs.keep();
    let tables = serde_json::to_vec_pretty(&outcome.tables)?;
    fs::write(path.join("tables.json"), tables)?;
    let lines: Vec<_> = outcome.violations.iter().map(ToString::to_string).collect();
    fs::write(path.join("violations.txt"), lines.join("\n"))?;
    Ok(path)
}
