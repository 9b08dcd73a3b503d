//! The project's own chores, run as `cargo xtask <command>`.

mod bench;
mod cargo;
mod check;
mod cluster;
mod cost;
mod deny;
mod features;
mod fuzz;
mod ide;
mod machine;
mod test;
mod torture;

use std::env;
use std::error::Error;
use std::process::ExitCode;

/// What a command ends with; the error is what to tell the user.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask <command>

commands:
  test [filter…]  run all tests, or those whose name contains a filter
  check           formatting, lints, documentation, features and dependencies
  torture [--engine NAME]… [--calls N] [--faults N] [--seed S] [--minutes M]
                  clients under a nemesis, and a checker of what is left (`torture help`)
  cluster         a Galera cluster of three MariaDB servers, to try things on by hand
  cost [--bless]  what a call costs in instructions and allocations, against tests/cost/bounds.txt
                  (`--time`: how long a fingerprint takes here)
  bench [--quick] [--block NAME]… [--write-docs]
                  what a call costs, against the same work without the library (`bench help`)
  bench compile   what the attribute costs a build, against handlers written by hand
  bench peers     the same work by other crates and by hand, side by side (`bench peers help`)
  fuzz [--seconds N] [target]
                  search for bytes that break a law of fuzz/, a minute each
  ide             what rust-analyzer makes of handlers (builds it first: ten minutes)

environment:
  DATABASE_URL    test on this PostgreSQL server (postgres://…) and start none
  MYSQL_URL       test on this MySQL or MariaDB server (mysql://…)
  MARIADB_BIN     the directory of mariadbd, if it is not found by itself
  PG_BIN          the directory of initdb, if it is not found by itself
  RUST_ANALYZER   the rust-analyzer that `ide` runs, instead of building one
  IDEM_DENY_ADVISORIES=1  `check` also asks the advisory database, over the network";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, filters)) if command == "test" => test::run(filters),
        Some((command, [])) if command == "check" => check::run(),
        Some((command, [])) if command == "cluster" => cluster::run(),
        Some((command, options)) if command == "cost" => cost::run(options),
        Some((command, options)) if command == "torture" => torture::run(options),
        Some((command, what)) if command == "bench" => bench::run(what),
        Some((command, what)) if command == "fuzz" => fuzz::run_targets(what),
        Some((command, [])) if command == "ide" => ide::run(),
        Some((command, [])) if matches!(&**command, "help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
