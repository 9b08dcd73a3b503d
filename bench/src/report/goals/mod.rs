//! The library's performance goals, and whether the last run of each block met them.

mod bounds;

use std::collections::BTreeMap;
use std::path::Path;

use self::bounds::{GOALS, Goal, Unit};
use super::table::{ratio, time, whole};
use super::{Report, Table};
use crate::Fault;
use crate::block::BLOCKS;
use crate::cases::CASES;
use crate::deed::Deed;

pub(crate) type Figures = BTreeMap<String, f64>;

const UPDATED: &str = "written/atomic/updated";
const DEAD: &str = "written/atomic/dead";

/// Returns every goal with its figure. The goal of a block that has not run has the row of the `earlier` table.
pub(crate) fn table(out: &Path, earlier: &str) -> Result<Table, Fault> {
    let mut figures = figures(out)?;
    if figures.is_empty() {
        return Err("no block has been run: run the bench without --quick first".into());
    }
    sum(&mut figures, UPDATED, "updated");
    sum(&mut figures, DEAD, "dead");
    let mut table = Table::new("Goals", &["goal", "bound", "figure", "met"]);
    for goal in &GOALS {
        let found = goal.found(&figures);
        if found.is_none()
            && let Some(row) = row_of(earlier, goal)
        {
            table.row(row);
            continue;
        }
        table.row(vec![
            goal.what.to_owned(),
            goal.bound(),
            found.map_or("–".into(), |found| goal.unit.show(found)),
            match found {
                None => "not measured".into(),
                Some(found) if goal.is_met(found) => "yes".into(),
                Some(_) => "**no**".into(),
            },
        ]);
    }
    Ok(table)
}

/// Returns the row of a goal in a table that was written before, unless its bound was another.
fn row_of(earlier: &str, goal: &Goal) -> Option<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim().trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let bound = goal.bound();
    let is_its = |row: &Vec<String>| row.len() == 4 && row[0] == goal.what && row[1] == bound;
    earlier.lines().map(cells).find(is_its)
}

/// Returns the figures of the last run of each block.
pub(crate) fn figures(out: &Path) -> Result<Figures, Fault> {
    let mut figures = Figures::new();
    for (block, _) in BLOCKS {
        let report = Report::kept(out, block)?;
        figures.extend(report.into_iter().flat_map(|report| report.figures));
    }
    Ok(figures)
}

/// Sums over all cases except lease mode, which has to write its claim.
fn sum(figures: &mut Figures, name: &str, what: &str) {
    let atomic = CASES.iter().filter(|case| case.deed != Deed::Lease);
    let found: Option<f64> = atomic
        .map(|case| figures.get(&format!("written/{}/{what}", case.name)))
        .sum();
    if let Some(found) = found {
        figures.insert(name.to_owned(), found);
    }
}

impl Goal {
    fn found(&self, figures: &Figures) -> Option<f64> {
        let found = figures.get(self.figure)?;
        match self.over {
            Some(over) => Some(found / figures.get(over)?),
            None => Some(*found),
        }
    }

    fn is_met(&self, found: f64) -> bool {
        // A ratio is compared as displayed.
        let found = if matches!(self.unit, Unit::Ratio) {
            (found * 100.0).round() / 100.0
        } else {
            found
        };
        found <= self.at_most && found >= self.at_least
    }

    fn bound(&self) -> String {
        if self.at_most.is_finite() {
            format!("≤ {}", self.unit.show(self.at_most))
        } else {
            format!("≥ {}", self.unit.show(self.at_least))
        }
    }
}

impl Unit {
    fn show(&self, value: f64) -> String {
        match self {
            Self::Count => whole(value),
            Self::Bytes => format!("{} bytes", whole(value)),
            Self::Ratio => ratio(value),
            Self::Micros => time(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_holds_from_its_own_side() {
        let most = bounds::ratio("", "", 1.05);
        assert!(most.is_met(1.05) && most.is_met(1.054) && !most.is_met(1.056));
        let least = bounds::at_least("", "", 0.70);
        assert!(least.is_met(0.70) && !least.is_met(0.69));
        let exact = bounds::count("", "", 0.0);
        assert!(exact.is_met(0.0) && !exact.is_met(0.1));
    }

    #[test]
    fn a_goal_that_was_not_measured_has_the_row_of_the_table_before() {
        let goal = bounds::ratio("a replay", "", 1.05);
        let before = "| goal | bound |\n| a replay |  ≤ 1.05x | 1.02x | yes |\n";
        let row = row_of(before, &goal).expect("its row");
        assert_eq!(row, ["a replay", "≤ 1.05x", "1.02x", "yes"]);
        assert_eq!(row_of(before, &bounds::ratio("a replay", "", 1.04)), None);
    }

    #[test]
    fn every_figure_of_a_case_names_a_case_that_there_is() {
        for goal in &GOALS {
            for figure in [Some(goal.figure), goal.over].into_iter().flatten() {
                let parts: Vec<_> = figure.split('/').collect();
                let case = match parts[..] {
                    ["latency", _, case, _] | ["counts", case, _] => case,
                    ["written", case, _] if case != "atomic" => case,
                    _ => continue,
                };
                assert!(CASES.iter().any(|known| known.name == case), "{figure}");
            }
        }
    }
}
