//! `cargo xtask cost`: measures the cost of a call in the calling process against the committed
//! bounds.

use std::process::Command;

use idem_tests_cluster::Binaries;

use crate::cargo::{cargo, run as run_command};
use crate::{Outcome, machine};

/// Only the counts of an optimised build are meaningful, so this member is built and tested
/// separately.
pub(crate) const MEMBER: &str = "idem-tests-cost";

/// Compares with the bounds, replaces the bounds with the measurement, or measures time only.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut commands = commands();
    match arguments {
        [] => {}
        [flag] if flag == "--bless" => {
            for command in &mut commands {
                command.env("IDEM_COST", "overwrite");
            }
        }
        [flag] if flag == "--time" => {
            return run_command(cargo().args([
                "run",
                "--release",
                "--package",
                MEMBER,
                "--",
                flag,
            ]));
        }
        _ => return Err("usage: cargo xtask cost [--bless | --time]".into()),
    }
    machine::provide_compiler()?;
    machine::provide_valgrind()?;
    let binaries = machine::provide_postgres()?;
    for mut command in commands {
        run_command(command.env(Binaries::VARIABLES[0], binaries.dir()))?;
    }
    Ok(())
}

/// Returns the commands that measure and compare: without features, then with metrics, which is compared with the
/// first, and with a handler that encrypts. They print the figures even if all are within bounds.
pub(crate) fn commands() -> [Command; 3] {
    [None, Some("metrics"), Some("encrypt")].map(|features| {
        let mut command = cargo();
        command.args(["test", "--release", "--package", MEMBER]);
        command.args(features.map(|features| format!("--features={features}")));
        command.args(["--", "--nocapture"]);
        command
    })
}
