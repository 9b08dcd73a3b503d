//! `cargo xtask torture`: runs at length what the tests run briefly.

use std::process::Command;

use idem_tests_cluster::Binaries;

use crate::cargo::{cargo, run as run_command, target};
use crate::{Outcome, machine};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    machine::provide_compiler()?;
    match arguments.split_first() {
        Some((subject, arguments)) if subject == "messages" => {
            machine::provide_brokers()?;
            run_program("idem-tests-messaging", "message-torture", arguments)
        }
        _ => run_program("idem-tests", "torture", arguments),
    }
}

/// Provides the databases that the arguments name, and runs a program of this package.
fn run_program(package: &str, program: &str, arguments: &[String]) -> Outcome {
    let mut variables = Vec::new();
    if wants("postgres", arguments) {
        let binaries = machine::provide_postgres()?;
        variables.push((Binaries::VARIABLES[0], binaries.dir().to_owned()));
    }
    if wants("mariadb", arguments) {
        machine::provide_mariadb()?;
    }
    run_command(cargo().args(["build", "--package", package, "--bin", program]))?;
    let mut torture = Command::new(target()?.join("debug").join(program));
    run_command(torture.envs(variables).args(arguments))
}

/// Returns whether the run needs this server: it is named, or no engine is, which means all.
fn wants(server: &str, arguments: &[String]) -> bool {
    let has = |text: &str| arguments.iter().any(|argument| argument == text);
    let asks = ["help", "--help", "-h"].into_iter().any(has);
    !asks && (has(server) || !has("--engine"))
}

#[cfg(test)]
mod tests {
    use super::wants;

    #[test]
    fn a_server_is_needed_unless_another_engine_is_named_or_help_is_asked_for() {
        let wants = |server, line: &str| {
            let arguments: Vec<_> = line.split(' ').map(str::to_owned).collect();
            wants(server, &arguments)
        };
        assert!(wants("postgres", "--calls 10") && wants("mariadb", "--calls 10"));
        assert!(wants("mariadb", "--engine mariadb") && !wants("postgres", "--engine mariadb"));
        assert!(!wants("postgres", "--engine sqlite") && !wants("mariadb", "help"));
    }
}
