//! `cargo xtask bench`: runs the measurements. They fail only if they cannot be made.

mod compile;
mod peers;

use idem_tests_cluster::Binaries;

use crate::cargo::{cargo, run as run_command, target};
use crate::{Outcome, machine};

/// Runs `compile` (the cost of the attribute in a build), `peers` (other ways to do the same work),
/// or passes the arguments to `bench/`, which measures the cost of a call.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if arguments == ["compile"] {
        return compile::run();
    }
    if let [first, rest @ ..] = arguments
        && first == "peers"
    {
        return peers::run(rest);
    }
    machine::provide_compiler()?;
    let postgres = machine::provide_postgres()?;
    let mut command = cargo();
    command
        .args(["run", "--release", "--package", "idem-bench", "--"])
        .args(arguments)
        .arg("--out")
        .arg(target()?.join("bench"))
        .env(Binaries::VARIABLES[0], postgres.dir());
    if wants_mariadb(arguments) {
        machine::provide_mariadb()?;
    }
    run_command(&mut command)
}

/// Returns whether the run needs MariaDB: it runs that block, or all blocks.
fn wants_mariadb(arguments: &[String]) -> bool {
    let has = |text: &str| arguments.iter().any(|argument| argument == text);
    !has("--only-docs") && (has("mariadb") || !has("--block"))
}

#[cfg(test)]
mod tests {
    use super::wants_mariadb;

    #[test]
    fn mariadb_is_needed_unless_only_other_blocks_are_named() {
        let wants = |line: &str| {
            let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            wants_mariadb(&arguments)
        };
        assert!(wants("") && wants("--quick") && wants("--block latency --block mariadb"));
        assert!(!wants("--block latency") && !wants("--only-docs"));
    }
}
