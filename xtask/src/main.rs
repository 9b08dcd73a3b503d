//! The project's own commands, run as `cargo xtask <command>`.

mod bench;
mod cargo;
mod check;
mod cluster;
mod cost;
mod deny;
mod features;
mod fuzz;
mod guide;
mod ide;
mod machine;
mod package;
mod test;
mod torture;

use std::env;
use std::error::Error;
use std::process::ExitCode;

use self::features::Pairs;

/// The result of a command. The error is the message for the user.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask <command>

commands:
  test [filter…]  run all tests, or those whose name contains a filter
  check           formatting, lints, documentation, features and dependencies
  check --pairs   the same, with every pair of features
  package         pack every published crate and build it from its package (minutes)
  torture [--engine NAME]… [--calls N] [--faults N] [--seed S] [--minutes M]
                  clients under a nemesis, then a check of the logs and tables (`torture help`)
  torture messages [--engine NAME]… [--events N] [--faults N] [--seed S] [--minutes M]
                  callers, relays, broker and consumers under a nemesis (`torture messages help`)
  cluster         a Galera cluster of three MariaDB servers, for experiments
  cost [--bless]  instructions and allocations of a call, against tests/cost/bounds.txt
                  (`--time`: the time of a fingerprint on this machine)
  cost --edges [--bless]
                  what the edge of each transport adds to a call, against tests/edges/bounds.txt
  bench [--quick] [--block NAME]… [--row TEXT] [--write-docs]
                  cost of a call, against the same work without the library (`bench help`)
  bench compile   cost of the attribute in a build, against handlers written by hand
  bench peers     the same work by other crates and by hand, side by side (`bench peers help`)
  fuzz [--seconds N] [target]
                  search for inputs that break a law of fuzz/, by default one minute for each
  guide           build the guide as a book (installs mdBook first)
  ide             check how rust-analyzer treats handlers (builds it first: ten minutes)

environment:
  DATABASE_URL    test on this PostgreSQL server (postgres://…) instead of starting one
  MYSQL_URL       test on this MySQL or MariaDB server (mysql://…)
  MARIADB_BIN     the directory of mariadbd, if it is not found automatically
  PG_BIN          the directory of initdb, if it is not found automatically
  RUST_ANALYZER   the rust-analyzer that `ide` runs, instead of building one
  IDEM_DENY_ADVISORIES=1  `check` also queries the advisory database, over the network";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, filters)) if command == "test" => test::run(filters),
        Some((command, [])) if command == "check" => check::run(Pairs::WithDatabase),
        Some((command, [pairs])) if command == "check" && pairs == "--pairs" => {
            check::run(Pairs::All)
        }
        Some((command, [])) if command == "package" => package::run(),
        Some((command, [])) if command == "cluster" => cluster::run(),
        Some((command, options)) if command == "cost" => cost::run(options),
        Some((command, options)) if command == "torture" => torture::run(options),
        Some((command, what)) if command == "bench" => bench::run(what),
        Some((command, what)) if command == "fuzz" => fuzz::run_targets(what),
        Some((command, [])) if command == "guide" => guide::run(),
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
