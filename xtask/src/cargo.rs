//! Runs cargo, and runs several steps of which each may fail on its own.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;

/// The members whose dependency features must not reach the other members. Every build of the
/// workspace excludes them, and they are built one by one.
pub(crate) const APART: [&str; 2] = ["idem-cli", "idem-tests-unified"];

/// The member that is another program without its feature. It is checked and tested that way too.
pub(crate) const EXAMPLE: &str = "case-escalation";

/// Returns the cargo that runs this program, with the root of the workspace as its directory.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Returns the target directory, which also holds what this program installs and generates.
pub(crate) fn target() -> Outcome<PathBuf> {
    let metadata = metadata()?;
    let dir = metadata["target_directory"].as_str();
    Ok(dir
        .ok_or("cargo metadata names no target directory")?
        .into())
}

/// Returns cargo's metadata of the workspace's own packages.
pub(crate) fn metadata() -> Outcome<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()?;
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout)?)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

/// Selects the whole workspace with all features, without the members in [`APART`].
pub(crate) fn workspace(command: &mut Command) -> &mut Command {
    command.args(["--workspace", "--all-features"]);
    for member in APART {
        command.args(["--exclude", member]);
    }
    command
}

/// Returns whether cargo knows the subcommand.
pub(crate) fn has(subcommand: &str) -> bool {
    cargo()
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Prints a command and runs it.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let text = describe(command);
    eprintln!("\n> {text}");
    let status = command
        .status()
        .map_err(|error| format!("cannot run {text}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("failed ({status}): {text}").into())
    }
}

/// Steps that are all run, even after one fails, so that one run shows every fault.
#[derive(Default)]
pub(crate) struct Steps {
    faults: Vec<String>,
}

impl Steps {
    pub(crate) fn perform(&mut self, command: &mut Command) {
        self.note(run(command));
    }

    pub(crate) fn note(&mut self, outcome: Outcome) {
        self.faults
            .extend(outcome.err().map(|error| error.to_string()));
    }

    pub(crate) fn finish(self) -> Outcome {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(format!("\n{}", self.faults.join("\n")).into())
        }
    }
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words = program.file_name().into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
