//! The output of a run: JSON, tables, and the section "Peers" of `docs/performance.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::machine::Machine;
use crate::marks;
use crate::numbers::{Chance, Sample};
use crate::options::Options;
use crate::peer::Promise;
use crate::postgres::{Record, cells};
pub(crate) use crate::table::Table;
use crate::table::ratio;

/// The peers whose record is atomic with the payment, as the library's is.
const COMPETITORS: [&str; 2] = ["durare, transaction step", "by hand, insert and update"];

type Kind = (&'static str, fn(&Record) -> &Sample);

/// The calls that are timed.
const KINDS: [Kind; 2] = [
    ("first run", |record| &record.first),
    ("replay", |record| &record.replay),
];

/// The measurement, as stored in `peers.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Whether the run had too few iterations for its figures to be kept.
    quick: bool,
    seed: u64,
    pub(crate) seconds: f64,
    machine: Machine,
    promises: Table,
    goal: Table,
    pub(crate) tables: Vec<Table>,
    figures: BTreeMap<String, f64>,
}

impl Report {
    pub(crate) fn new(options: &Options, machine: Machine) -> Self {
        let columns = [
            "",
            "version",
            "what is measured",
            "record atomic with the payment",
            "state after a crash in between",
            "known key, other request",
        ];
        Self {
            quick: options.quick,
            seed: options.seed,
            seconds: 0.0,
            machine,
            promises: Table::new("The peers, and what each one guarantees", &columns),
            goal: Table::new(
                "Peers with the same guarantee: the library's time as a part of theirs (95 of 100)",
                &["", COMPETITORS[0], COMPETITORS[1], "faster than all"],
            ),
            tables: Vec::new(),
            figures: BTreeMap::new(),
        }
    }

    pub(crate) fn figure(&mut self, name: &str, value: f64) {
        self.figures.insert(name.to_owned(), value);
    }

    /// Adds a row to the table of guarantees. The answer to another request is observed, not taken
    /// from documentation.
    pub(crate) fn promise(&mut self, promise: &Promise, other_request: &str) {
        let atomic = match other_request {
            "–" => "–",
            _ if promise.atomic => "yes",
            _ => "**not atomic**",
        };
        self.promises.row(vec![
            promise.name.to_owned(),
            promise.version.to_owned(),
            promise.measured.to_owned(),
            atomic.to_owned(),
            promise.crash.to_owned(),
            other_request.to_owned(),
        ]);
    }

    /// Adds a table of first runs and replays; the first row is plain.
    pub(crate) fn times(
        &mut self,
        name: &str,
        caption: &str,
        rows: &[(&str, &Record)],
        chance: &mut Chance,
    ) {
        let columns = [
            "",
            "first run",
            "quartiles",
            "against plain",
            "replay",
            "quartiles",
            "against plain",
        ];
        let mut table = Table::new(caption, &columns);
        let Some((_, plain)) = rows.first() else {
            return;
        };
        for (who, record) in rows {
            let mut row = vec![(*who).to_owned()];
            for (kind, of) in KINDS {
                let sample = of(record);
                row.extend(cells(sample, &plain.first));
                if sample.count() > 0 {
                    let name = format!("{name}/{who}/{kind}");
                    let ratio = sample.median() / plain.first.median();
                    self.figure(&format!("{name}/median"), sample.median());
                    self.figure(&format!("{name}/quartile 1"), sample.quantile(0.25));
                    self.figure(&format!("{name}/quartile 3"), sample.quantile(0.75));
                    self.figure(&format!("{name}/ratio"), ratio);
                }
            }
            table.row(row);
        }
        self.tables.push(table);
        self.goal(name, rows, chance);
    }

    /// Adds the goal of the library: faster than each peer with the same guarantee. Its own
    /// protocol by hand is not a peer here: it has the same guarantee and the same steps, and shows
    /// what the library adds.
    fn goal(&mut self, name: &str, rows: &[(&str, &Record)], chance: &mut Chance) {
        let ours = rows
            .iter()
            .filter(|(who, _)| who.split(',').next() == Some("idem"));
        for (who, record) in ours {
            for (word, of) in KINDS {
                let mut row = vec![format!("{name}, {word}: {who}")];
                let mut ahead = true;
                for competitor in COMPETITORS {
                    let Some((_, other)) = rows.iter().find(|(who, _)| *who == competitor) else {
                        row.push("–".into());
                        continue;
                    };
                    let (sample, other) = (of(record), of(other));
                    let share = sample.median() / other.median();
                    let (low, high) = sample.ratio_within(other, chance);
                    ahead &= share < 1.0;
                    row.push(format!("{} ({low:.2} – {high:.2})", ratio(share)));
                }
                row.push(if ahead { "yes" } else { "**no**" }.to_owned());
                self.goal.row(row);
            }
        }
    }

    /// Writes the JSON and prints the tables.
    pub(crate) fn keep(&self, options: &Options) -> Result<(), Fault> {
        fs::create_dir_all(&options.out)?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(options.out.join("peers.json"), text)?;
        println!("\n{}", self.text()?);
        Ok(())
    }

    fn text(&self) -> Result<String, Fault> {
        let mut text = format!("{}\n\n", self.machine.sentence());
        for table in [&self.promises, &self.goal].into_iter().chain(&self.tables) {
            writeln!(text, "{table}")?;
        }
        Ok(text.trim_end().to_owned())
    }
}

/// Puts the tables of the last run into the document.
pub(crate) fn write(options: &Options) -> Result<(), Fault> {
    let file = options.out.join("peers.json");
    let text = fs::read_to_string(&file).map_err(|error| {
        format!(
            "{}: {error}: no run has been kept: run without --only-docs first",
            file.display()
        )
    })?;
    let report: Report = serde_json::from_str(&text)?;
    if report.quick {
        return Err("the last run was a --quick run, whose figures are not kept".into());
    }
    let document = fs::read_to_string(&options.document)?;
    let document = marks::replace_between(&document, "peers", &report.text()?)?;
    fs::write(&options.document, document)?;
    println!("written to {}", options.document.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::peer::PEERS;

    #[test]
    fn the_competitors_are_those_whose_record_is_atomic_but_for_the_library_and_its_protocol() {
        let atomic = PEERS.iter().map(|peer| peer.promise());
        let mut names: Vec<_> = atomic
            .filter(|promise| promise.atomic && !promise.name.contains("idem"))
            .map(|promise| promise.name)
            .collect();
        let mut competitors = super::COMPETITORS.to_vec();
        names.sort_unstable();
        competitors.sort_unstable();
        assert_eq!(names, competitors);
    }

    #[test]
    fn the_document_has_a_place_for_the_peers() {
        let document = include_str!("../../../docs/performance.md");
        assert!(crate::marks::replace_between(document, "peers", "").is_ok());
    }
}
