//! Checks the dependencies against the policy of `deny.toml`.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::cargo::{cargo, has, root, run, target};

const VERSION: &str = "0.20.2";

pub(crate) fn run_checks() -> Outcome {
    let mut command = command()?;
    command
        .args([
            "--workspace",
            "--all-features",
            "check",
            "--hide-inclusion-graph",
        ])
        .args(["bans", "licenses", "sources"]);
    // The advisory database is a git repository whose host may be unreachable from this machine.
    if env::var_os("IDEM_DENY_ADVISORIES").is_some_and(|value| value == "1") {
        command.arg("advisories");
    }
    run(&mut command)
}

/// Returns the machine's cargo-deny, or one that is built once into the target directory.
fn command() -> Outcome<Command> {
    if has("deny") {
        let mut command = cargo();
        command.arg("deny");
        return Ok(command);
    }
    let tools = target()?.join("tools");
    let program = tools.join("bin/cargo-deny");
    if !program.exists() {
        install(&tools)?;
    }
    let mut command = Command::new(program);
    command.arg("deny").current_dir(root());
    Ok(command)
}

fn install(tools: &Path) -> Outcome {
    run(cargo()
        .args(["install", "--locked", "--debug", "cargo-deny"])
        .args(["--version", VERSION, "--root"])
        .arg(tools))
}
