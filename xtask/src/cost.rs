//! `cargo xtask cost`: measures the cost of a call in the calling process against the committed
//! bounds.

use std::process::Command;

use idem_tests_cluster::Binaries;

use crate::cargo::{cargo, run as run_command};
use crate::{Outcome, machine};

/// Only the counts of an optimised build are meaningful, so this member is built and tested
/// separately.
pub(crate) const MEMBER: &str = "idem-tests-cost";

/// The member that counts the edges, which is built with the frameworks of all transports. The tests leave it out.
pub(crate) const EDGES: &str = "idem-tests-edges";

/// Compares with the bounds, replaces the bounds with the measurement, or measures time only.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let [edges, rest @ ..] = arguments
        && edges == "--edges"
    {
        return run_edges(rest);
    }
    let mut commands = commands();
    match arguments {
        [] => {}
        [flag] if flag == "--bless" => {
            for command in &mut commands {
                bless(command);
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
        _ => {
            return Err("usage: cargo xtask cost [--bless | --time | --edges [--bless]]".into());
        }
    }
    machine::provide_compiler()?;
    machine::provide_valgrind()?;
    let binaries = machine::provide_postgres()?;
    for mut command in commands {
        run_command(command.env(Binaries::VARIABLES[0], binaries.dir()))?;
    }
    Ok(())
}

/// Compares what the edge of each transport costs with its bounds, or replaces the bounds.
fn run_edges(arguments: &[String]) -> Outcome {
    let mut command = measure(EDGES, None);
    match arguments {
        [] => {}
        [flag] if flag == "--bless" => bless(&mut command),
        _ => return Err("usage: cargo xtask cost --edges [--bless]".into()),
    }
    machine::provide_compiler()?;
    machine::provide_valgrind()?;
    run_command(&mut command)
}

fn bless(command: &mut Command) {
    command.env("IDEM_COST", "overwrite");
}

/// Returns the commands that measure and compare: without features, then with metrics, which is compared with the
/// first, and with a handler that encrypts. They print the figures even if all are within bounds.
pub(crate) fn commands() -> [Command; 3] {
    [None, Some("metrics"), Some("encrypt")].map(|features| measure(MEMBER, features))
}

fn measure(member: &str, features: Option<&str>) -> Command {
    let mut command = cargo();
    command.args(["test", "--release", "--package", member]);
    command.args(features.map(|features| format!("--features={features}")));
    command.args(["--", "--nocapture"]);
    command
}
