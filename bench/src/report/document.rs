//! `docs/performance.md`: the words are written by hand, and what stands between two marks is put there
//! from the last run of each block.

use std::fmt::Write as _;
use std::fs;

use super::{Report, goals};
use crate::Fault;
use crate::block::BLOCKS;
use crate::options::Options;

/// Puts tables into the document, and plots beside it.
pub(crate) fn write(options: &Options) -> Result<(), Fault> {
    let mut text = fs::read_to_string(&options.document)?;
    let plots = options.document.with_extension("");
    fs::create_dir_all(&plots)?;
    let (mut machines, mut loads) = (Vec::new(), Vec::new());
    for (block, _) in BLOCKS {
        let report = Report::kept(&options.out, block)?;
        if report.quick {
            return Err(format!("the last run of {block} was a quick one").into());
        }
        let mut tables = String::new();
        for table in &report.tables {
            writeln!(tables, "{table}")?;
        }
        text = put(&text, block, tables.trim_end())?;
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
        "The load average of the minute before the run was {load:.1}: what other programs were doing."
    ));
    text = put(&text, "machine", &machines.join("\n\n"))?;
    let goals = goals::table(&options.out)?.to_string();
    // Its caption is the section's.
    let goals = goals
        .split_once("\n\n")
        .map_or(goals.as_str(), |(_, rows)| rows);
    text = put(&text, "goals", goals.trim_end())?;
    fs::write(&options.document, text)?;
    println!("written to {}", options.document.display());
    Ok(())
}

/// Puts text between the marks of this name.
fn put(document: &str, name: &str, text: &str) -> Result<String, Fault> {
    let (begin, end) = (format!("<!-- bench: {name} -->"), "<!-- end -->");
    let (head, rest) = document
        .split_once(&begin)
        .ok_or_else(|| format!("the document has no mark {begin}"))?;
    let (_, tail) = rest
        .split_once(end)
        .ok_or_else(|| format!("the document has no {end} after {begin}"))?;
    Ok(format!("{head}{begin}\n\n{text}\n\n{end}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_two_marks_is_replaced_and_nothing_else() {
        let document =
            "a\n<!-- bench: x -->\nold\n<!-- end -->\nb\n<!-- bench: y -->\n<!-- end -->\n";
        let once = put(document, "x", "new").expect("it has the mark");
        let expected =
            "a\n<!-- bench: x -->\n\nnew\n\n<!-- end -->\nb\n<!-- bench: y -->\n<!-- end -->\n";
        assert_eq!(once, expected);
        assert_eq!(put(&once, "x", "new").expect("it has the mark"), once);
        assert!(put(document, "z", "").is_err());
    }

    #[test]
    fn the_document_has_a_place_for_every_block() {
        let document = include_str!("../../../docs/performance.md");
        let names = BLOCKS.iter().map(|(name, _)| *name);
        for name in names.chain(["machine", "goals"]) {
            assert!(put(document, name, "").is_ok(), "{name}");
        }
    }
}
