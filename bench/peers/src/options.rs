//! The options of the command line.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Fault;

const USAGE: &str = "\
usage: cargo xtask bench peers [--quick] [--iterations N] [--seed S] [--write-docs]

  --quick         few iterations of each; its figures are not kept
  --iterations N  iterations of each case on loopback (300); others in proportion
  --seed S        the seed of the order of the cases (random by default)
  --write-docs    also writes the tables to docs/performance.md
  --only-docs     writes the tables of the last run without measuring";

const ITERATIONS: usize = 300;

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) iterations: usize,
    pub(crate) seed: u64,
    pub(crate) write_docs: bool,
    pub(crate) measure: bool,
    /// The directory for JSON, and for SQLite's files during the run.
    pub(crate) out: PathBuf,
    /// The program of `durare/`.
    pub(crate) durare: PathBuf,
    /// `docs/performance.md`.
    pub(crate) document: PathBuf,
}

impl Options {
    /// Reads the arguments after the program's name.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, Fault> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut options = Self {
            quick: false,
            iterations: ITERATIONS,
            seed: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
            write_docs: false,
            measure: true,
            out: root.join("target/bench"),
            durare: root.join("target/peers/release/idem-bench-durare"),
            document: root.join("docs/performance.md"),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("{argument} needs a value\n{USAGE}"))
            };
            match argument.as_str() {
                "--quick" => (options.quick, options.iterations) = (true, 10),
                "--iterations" => options.iterations = value()?.parse::<usize>()?.max(10),
                "--seed" => options.seed = value()?.parse()?,
                "--out" => options.out = value()?.into(),
                "--durare" => options.durare = value()?.into(),
                "--write-docs" => options.write_docs = true,
                "--only-docs" => (options.write_docs, options.measure) = (true, false),
                "help" | "--help" | "-h" => return Err(USAGE.into()),
                _ => return Err(format!("not understood: {argument}\n{USAGE}").into()),
            }
        }
        if options.quick && options.write_docs {
            return Err(
                "--write-docs does not take the figures of --quick: run without --quick".into(),
            );
        }
        Ok(options)
    }

    /// Scales a number of iterations: `full` in a full run.
    pub(crate) fn scaled(&self, full: usize) -> usize {
        (full * self.iterations / ITERATIONS).max(5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_refused_and_figures_of_a_quick_run_are_not_written_down() {
        let read = |line: &str| Options::read(line.split_whitespace().map(str::to_owned));
        for wrong in [
            "--fast",
            "--iterations",
            "--iterations x",
            "--quick --write-docs",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let options = read("--iterations 60 --seed 3").expect("it is understood");
        assert_eq!((options.seed, options.scaled(100)), (3, 20));
    }
}
