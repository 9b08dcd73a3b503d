//! `docs/performance.md`: its prose is written by hand. The text between two marks is generated
//! from the last run of each block.

use std::fmt::Write as _;
use std::fs;

use super::marks::{between, replace_between};
use super::{Report, goals, summary};
use crate::Fault;
use crate::block::BLOCKS;
use crate::options::Options;

/// Puts the tables into the document, and the plots beside it. What was not measured since the last time stays as it is.
pub(crate) fn write(options: &Options) -> Result<(), Fault> {
    let mut text = fs::read_to_string(&options.document)?;
    let plots = options.document.with_extension("");
    fs::create_dir_all(&plots)?;
    let (mut machines, mut loads) = (Vec::new(), Vec::new());
    for (block, _) in BLOCKS {
        let Some(report) = Report::kept(&options.out, block)? else {
            continue;
        };
        if report.quick {
            return Err(format!(
                "the last run of {block} was a --quick run, whose figures are not kept"
            )
            .into());
        }
        let mut tables = String::new();
        for table in &report.tables {
            writeln!(tables, "{table}")?;
        }
        text = replace_between(&text, block, tables.trim_end())?;
        for plot in &report.plots {
            fs::write(plots.join(&plot.file), plot.svg())?;
        }
        if let Some(machine) = report.machine {
            machines.push(machine.sentence());
            loads.push(machine.load);
        }
    }
    machines.dedup();
    let load = loads.into_iter().fold(0.0, f64::max);
    machines.push(format!(
        "The load average of the minute before the run was {load:.1}, caused by other programs."
    ));
    text = replace_between(&text, "machine", &machines.join("\n\n"))?;
    let earlier = between(&text, "goals")?.to_owned();
    let goals = goals::table(&options.out, &earlier)?.to_string();
    // The section's heading already serves as its caption.
    let goals = goals
        .split_once("\n\n")
        .map_or(goals.as_str(), |(_, rows)| rows);
    text = replace_between(&text, "goals", goals.trim_end())?;
    if let Some(cost) = summary::lines(&goals::figures(&options.out)?) {
        text = replace_between(&text, "cost", &cost)?;
    }
    fs::write(&options.document, text)?;
    println!("written to {}", options.document.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_a_place_for_every_block() {
        let document = include_str!("../../../docs/performance.md");
        let names = BLOCKS.iter().map(|(name, _)| *name);
        for name in names.chain(["cost", "machine", "goals"]) {
            assert!(replace_between(document, name, "").is_ok(), "{name}");
        }
    }
}
