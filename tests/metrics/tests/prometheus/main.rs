//! The board and the alerts that are shipped, against Debian's Prometheus and a program that calls the libraries.

mod alerts;
mod board;
mod program;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a file of `docs`.
fn docs(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the workspace").join("docs").join(name)
}

fn read(name: &str) -> String {
    let path = docs(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs promtool, and asserts that it is content.
#[track_caller]
fn promtool(arguments: &[&str]) -> String {
    let output = Command::new("promtool")
        .args(arguments)
        .output()
        .expect("promtool of the package prometheus: `cargo xtask test` installs it");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
    text
}

/// Returns the names of metrics in an expression: the words before a brace or a bracket, or those that a function
/// stands around, that begin as ours do.
fn metrics_in(expression: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = expression.split(|c| !is_part(c));
    let ours = ["idempotency_", "outbox_", "message_", "projection_"];
    let ours = words.filter(|word| ours.iter().any(|start| word.starts_with(start)));
    ours.map(str::to_owned).collect()
}
