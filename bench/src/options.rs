//! The options of the command line.

use std::path::PathBuf;

use crate::Fault;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [--quick] [--iterations N] [--block NAME]… [--row TEXT] [--records N] [--seed S] [--write-docs]

  --quick         every block with few iterations: about a minute; its figures are not kept
  --iterations N  iterations of each latency case on loopback (400); slower links and other blocks in proportion
  --block NAME    only this block; may be given several times
  --row TEXT      only the cases whose name contains this, and those that they are compared with;
                  the tables are printed, and no figure is kept
  --records N     the largest table of the blocks growth and layout (1000000)
  --full          10000000 records: another half hour, and 15 GB of disk for a while
  --seed S        the seed of the order of the cases (random by default)
  --write-docs    also writes tables and plots of the last run of each block to docs/performance.md
  --only-docs     writes them without measuring

blocks: ";

/// The default number of iterations of a latency case on loopback.
const ITERATIONS: usize = 400;

/// The default size of the largest table, and the sizes of a quick and of a full run.
const RECORDS: [usize; 3] = [1_000_000, 10_000, 10_000_000];

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) iterations: usize,
    pub(crate) blocks: Vec<String>,
    /// Part of the names of the cases to run.
    pub(crate) row: Option<String>,
    /// The records of the largest table.
    pub(crate) records: usize,
    pub(crate) seed: u64,
    pub(crate) write_docs: bool,
    pub(crate) measure: bool,
    /// The directory for JSON and plots.
    pub(crate) out: PathBuf,
    /// `docs/performance.md`.
    pub(crate) document: PathBuf,
}

impl Options {
    /// Reads the arguments after the program's name. `blocks` are the names of all blocks.
    pub(crate) fn read(
        arguments: impl Iterator<Item = String>,
        seed: u64,
        blocks: &[&str],
    ) -> Result<Self, Fault> {
        let usage = |why: &str| usage(why, blocks);
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut options = Self {
            quick: false,
            iterations: ITERATIONS,
            blocks: Vec::new(),
            row: None,
            records: RECORDS[0],
            seed,
            write_docs: false,
            measure: true,
            out: root.join("target/bench"),
            document: root.join("docs/performance.md"),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| usage(&format!("{argument} needs a value")))
            };
            match argument.as_str() {
                "--quick" => {
                    options.quick = true;
                    options.iterations = 12;
                    options.records = RECORDS[1];
                }
                "--iterations" => options.iterations = value()?.parse::<usize>()?.max(10),
                "--block" => options.blocks.push(value()?),
                "--row" => options.row = Some(value()?),
                "--records" => options.records = value()?.parse::<usize>()?.max(RECORDS[1]),
                "--full" => options.records = RECORDS[2],
                "--seed" => options.seed = value()?.parse()?,
                "--out" => options.out = value()?.into(),
                "--write-docs" => options.write_docs = true,
                "--only-docs" => (options.write_docs, options.measure) = (true, false),
                "help" | "--help" | "-h" => return Err(usage("no block was run")),
                _ => return Err(usage(&format!("not understood: {argument}"))),
            }
        }
        let unknown = options
            .blocks
            .iter()
            .find(|asked| !blocks.contains(&asked.as_str()));
        match unknown {
            Some(unknown) => Err(usage(&format!("no such block: {unknown}"))),
            None if options.quick && options.write_docs => {
                Err("--write-docs does not take the figures of --quick: run without --quick".into())
            }
            None if options.row.is_some() && options.write_docs => {
                Err("--row keeps no figures for --write-docs: run the whole block".into())
            }
            None => Ok(options),
        }
    }

    pub(crate) fn wants(&self, block: &str) -> bool {
        self.blocks.is_empty() || self.blocks.iter().any(|asked| asked == block)
    }

    /// Scales a number of iterations: `full` in a full run.
    pub(crate) fn scaled(&self, full: usize) -> usize {
        (full * self.iterations / ITERATIONS).max(3)
    }
}

fn usage(why: &str, blocks: &[&str]) -> Fault {
    format!("{why}\n{USAGE}{}", blocks.join(", ")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: [&str; 2] = ["latency", "written"];

    fn read(line: &str) -> Result<Options, Fault> {
        Options::read(line.split_whitespace().map(str::to_owned), 1, &BLOCKS)
    }

    #[test]
    fn an_unknown_word_or_block_is_refused_and_the_blocks_are_named() {
        for wrong in ["--fast", "--block nosuch", "--iterations", "--iterations x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let message = read("--block nosuch")
            .expect_err("no such block")
            .to_string();
        assert!(message.contains("latency"), "{message}");
    }

    #[test]
    fn without_a_filter_every_block_is_wanted_and_figures_of_a_quick_run_are_not_written_down() {
        let options = read("--seed 3").expect("it is understood");
        assert!(BLOCKS.iter().all(|name| options.wants(name)));
        assert_eq!((options.seed, options.scaled(100)), (3, 100));
        let options = read("--block written --iterations 40").expect("it is understood");
        assert!(options.wants("written") && !options.wants("latency"));
        assert_eq!(options.scaled(100), 10);
        assert!(read("--quick --write-docs").is_err());
        assert!(read("--row replay --write-docs").is_err());
    }

    #[test]
    fn the_largest_table_is_small_in_a_quick_run_and_large_in_a_full_one() {
        let records = |line| read(line).expect("it is understood").records;
        assert_eq!(records(""), 1_000_000);
        assert_eq!(records("--quick"), 10_000);
        assert_eq!(records("--full"), 10_000_000);
        assert_eq!(records("--records 100000"), 100_000);
    }
}
