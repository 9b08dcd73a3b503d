//! The library's performance goals, and whether the last run of each block met them.

use std::collections::BTreeMap;
use std::path::Path;

use super::table::{ratio, time, whole};
use super::{Report, Table};
use crate::Fault;
use crate::block::BLOCKS;
use crate::deed::{CASES, Deed};

type Figures = BTreeMap<String, f64>;

enum Unit {
    Count,
    Bytes,
    Ratio,
    Micros,
}

/// A bound on a figure, or on the ratio of two.
struct Goal {
    what: &'static str,
    figure: &'static str,
    over: Option<&'static str>,
    unit: Unit,
    at_most: f64,
    /// A goal for a figure that must be at least its bound.
    at_least: f64,
}

const fn at_most(what: &'static str, figure: &'static str, unit: Unit, bound: f64) -> Goal {
    Goal {
        what,
        figure,
        over: None,
        unit,
        at_most: bound,
        at_least: f64::NEG_INFINITY,
    }
}

const fn over(what: &'static str, figure: &'static str, over: &'static str, bound: f64) -> Goal {
    Goal {
        over: Some(over),
        ..at_most(what, figure, Unit::Ratio, bound)
    }
}

const GOALS: [Goal; 22] = {
    use Unit::{Bytes, Count, Micros, Ratio};
    [
        at_most(
            "a first run, fused: round trips more than plain",
            "counts/first run, 1 statement, fused/more",
            Count,
            0.0,
        ),
        at_most(
            "a first run, unfused: round trips more than plain",
            "counts/first run, 1 statement, unfused/more",
            Count,
            2.0,
        ),
        at_most(
            "a replay, fused: round trips more than one SELECT",
            "counts/replay, fused/more",
            Count,
            1.0,
        ),
        at_most(
            "in flight, fused: answered while the body is held; round trips more than one SELECT",
            "counts/in flight, fused/more",
            Count,
            1.0,
        ),
        at_most(
            "WAL of a first run, fused: more than plain",
            "written/first run, 1 statement, fused/WAL more",
            Bytes,
            550.0,
        ),
        at_most(
            "WAL of a first run, unfused: more than plain",
            "written/first run, 1 statement, unfused/WAL more",
            Bytes,
            550.0,
        ),
        at_most("WAL of a replay", "written/replay, fused/WAL", Bytes, 0.0),
        at_most(
            "WAL of a replay, unfused",
            "written/replay, unfused/WAL",
            Bytes,
            0.0,
        ),
        at_most(
            "updated records, all cases of atomic mode",
            UPDATED,
            Count,
            0.0,
        ),
        at_most("dead records, all cases of atomic mode", DEAD, Count, 0.0),
        at_most(
            "fused, round trip of 1 ms",
            "latency/1 ms/first run, 1 statement, fused/ratio",
            Ratio,
            1.05,
        ),
        at_most(
            "fused, round trip of 7 ms",
            "latency/7 ms/first run, 1 statement, fused/ratio",
            Ratio,
            1.05,
        ),
        at_most(
            "fused, loopback with fsync",
            "latency/loopback/first run, 1 statement, fused/ratio",
            Ratio,
            1.35,
        ),
        at_most(
            "fused, loopback with fsync, 3 statements",
            "latency/loopback/first run, 3 statements, fused/ratio",
            Ratio,
            1.25,
        ),
        Goal {
            at_least: 0.70,
            ..at_most(
                "calls a second of 8 tasks, fsync",
                "tasks/fsync/8/fused/ratio",
                Ratio,
                f64::INFINITY,
            )
        },
        at_most(
            "a replay, loopback, over one SELECT",
            "latency/loopback/replay, fused/ratio",
            Ratio,
            1.40,
        ),
        at_most(
            "a replay, 1 ms, over one SELECT",
            "latency/1 ms/replay, fused/ratio",
            Ratio,
            1.40,
        ),
        at_most(
            "a replay, 7 ms, over one SELECT",
            "latency/7 ms/replay, fused/ratio",
            Ratio,
            1.40,
        ),
        over(
            "the library over its protocol by hand, fused",
            "latency/loopback/first run, 1 statement, fused/median",
            "latency/loopback/by hand, fused/median",
            1.05,
        ),
        over(
            "the library over its protocol by hand, unfused",
            "latency/loopback/first run, 1 statement, unfused/median",
            "latency/loopback/by hand, unfused/median",
            1.05,
        ),
        at_most(
            "fingerprint of a typed request of 1 KB",
            "fingerprint/1 KB/typed/median",
            Micros,
            10.0,
        ),
        at_most("calls beside a purge, median", "purge/ratio", Ratio, 1.25),
    ]
};

const UPDATED: &str = "written/atomic/updated";
const DEAD: &str = "written/atomic/dead";

/// Returns every goal with its figure. The goals of a block that has not run stay open.
pub(crate) fn table(out: &Path) -> Result<Table, Fault> {
    let mut figures = Figures::new();
    for (block, _) in BLOCKS {
        if let Ok(report) = Report::kept(out, block) {
            figures.extend(report.figures);
        }
    }
    if figures.is_empty() {
        return Err("no block has been run: run the bench without --quick first".into());
    }
    sum(&mut figures, UPDATED, "updated");
    sum(&mut figures, DEAD, "dead");
    let mut table = Table::new("Goals", &["goal", "bound", "figure", "met"]);
    for goal in &GOALS {
        let found = goal.found(&figures);
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
        let most = at_most("", "", Unit::Ratio, 1.05);
        assert!(most.is_met(1.05) && most.is_met(1.054) && !most.is_met(1.056));
        let least = Goal {
            at_least: 0.70,
            ..at_most("", "", Unit::Ratio, f64::INFINITY)
        };
        assert!(least.is_met(0.70) && !least.is_met(0.69));
        let exact = at_most("", "", Unit::Count, 0.0);
        assert!(exact.is_met(0.0) && !exact.is_met(0.1));
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
