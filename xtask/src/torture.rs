//! `cargo xtask torture`: a long run of what the tests do in short.

use std::process::Command;

use crate::cargo::{cargo, run as run_command, target};
use crate::{Outcome, machine};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    machine::provide_compiler()?;
    let asks = arguments
        .iter()
        .any(|argument| matches!(&**argument, "help" | "--help" | "-h"));
    let binaries = if asks {
        None
    } else {
        Some(machine::provide_postgres()?)
    };
    run_command(cargo().args(["build", "--package", "idem-tests", "--bin", "torture"]))?;
    let mut torture = Command::new(target()?.join("debug/torture"));
    if let Some(binaries) = binaries {
        torture.env(idem_tests_cluster::Binaries::VARIABLES[0], binaries.dir());
    }
    run_command(torture.args(arguments))
}
