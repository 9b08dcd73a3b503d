//! Running cargo, and several steps of which each may fail by itself.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;

/// The members whose features of dependencies must not reach the others': every build of the
/// workspace leaves them out, and they are built one by one.
pub(crate) const APART: [&str; 1] = ["idem-tests-unified"];

/// The cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Where cargo puts what it builds, and this program what it installs and generates.
pub(crate) fn target() -> Outcome<PathBuf> {
    let metadata = metadata()?;
    let dir = metadata["target_directory"].as_str();
    Ok(dir
        .ok_or("cargo metadata names no target directory")?
        .into())
}

/// What cargo knows of the workspace's own packages.
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

/// Selects the whole workspace with all features, but for the members [`APART`].
pub(crate) fn workspace(command: &mut Command) -> &mut Command {
    command.args(["--workspace", "--all-features"]);
    for member in APART {
        command.args(["--exclude", member]);
    }
    command
}

/// Whether cargo knows the subcommand.
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

/// Steps that are all taken, so that one run shows every fault.
#[derive(Default)]
pub(crate) struct Steps {
    faults: Vec<String>,
}

impl Steps {
    pub(crate) fn take(&mut self, command: &mut Command) {
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
    let mut words = vec!["cargo".to_owned()];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.join(" ")
}
