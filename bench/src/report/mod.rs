//! The output of a run: JSON, tables, plots, and the document.

pub(crate) mod document;
pub(crate) mod goals;
pub(crate) mod machine;
pub(crate) mod marks;
pub(crate) mod plot;
pub(crate) mod summary;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use plot::Plot;
pub(crate) use table::Table;

use crate::Fault;
use crate::numbers::Sample;
use machine::Machine;

/// The measurements of one block, as stored in `<block>.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) block: String,
    /// Whether the run had too few iterations for its figures to be kept.
    pub(crate) quick: bool,
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    pub(crate) machine: Option<Machine>,
    pub(crate) tables: Vec<Table>,
    pub(crate) plots: Vec<Plot>,
    /// Every figure by its name, for the goals and for readers who calculate with them.
    pub(crate) figures: BTreeMap<String, f64>,
}

impl Report {
    pub(crate) fn of(block: &str) -> Self {
        Self {
            block: block.to_owned(),
            quick: false,
            seed: 0,
            seconds: 0.0,
            machine: None,
            tables: Vec::new(),
            plots: Vec::new(),
            figures: BTreeMap::new(),
        }
    }

    /// Records a figure under this block's name, unless it is not a number.
    pub(crate) fn figure(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.figures.insert(format!("{}/{name}", self.block), value);
        }
    }

    /// Records the statistics of a sample.
    pub(crate) fn sample(&mut self, name: &str, sample: &Sample) {
        self.figure(
            &format!("{name}/count"),
            crate::numbers::float(sample.count()),
        );
        self.figure(&format!("{name}/median"), sample.median());
        self.figure(&format!("{name}/quartile 1"), sample.quantile(0.25));
        self.figure(&format!("{name}/quartile 3"), sample.quantile(0.75));
    }

    /// Prints the tables.
    pub(crate) fn show(&self) {
        for table in &self.tables {
            println!("\n{table}");
        }
    }

    /// Writes the JSON and the plots.
    pub(crate) fn keep(&self, out: &Path) -> Result<(), Fault> {
        fs::create_dir_all(out)?;
        fs::write(
            out.join(format!("{}.json", self.block)),
            serde_json::to_string_pretty(self)? + "\n",
        )?;
        for plot in &self.plots {
            fs::write(out.join(&plot.file), plot.svg())?;
        }
        Ok(())
    }

    /// Reads the report of the last run of a block, if it has been run.
    pub(crate) fn kept(out: &Path, block: &str) -> Result<Option<Self>, Fault> {
        let file = out.join(format!("{block}.json"));
        match fs::read_to_string(&file) {
            Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", file.display()).into()),
        }
    }
}
