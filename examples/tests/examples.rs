//! Runs the examples. Each asserts that what it shows is true.

use std::env::{self, consts::EXE_SUFFIX};
use std::process::Command;

#[test]
fn the_quickstart_ends_with_one_effect_per_key() {
    let shown = run("quickstart");
    assert!(
        shown.ends_with("4 keys, 4 payments: one effect per key.\n"),
        "{shown}"
    );
}

#[test]
fn a_plain_function_has_one_effect_per_key() {
    let shown = run("plain_function");
    assert!(shown.ends_with("1 key, 1 parcel.\n"), "{shown}");
}

#[test]
fn in_the_callers_transaction_both_commit_or_neither() {
    let shown = run("caller_transaction");
    assert!(shown.ends_with("Grace was told\n"), "{shown}");
}

#[test]
fn a_mail_in_doubt_is_sent_once_and_found_out() {
    let shown = run("notifier");
    assert!(shown.ends_with("2 keys, 2 mails.\n"), "{shown}");
}

#[test]
fn a_command_called_twice_and_an_event_published_twice_notify_once() {
    let shown = run("messages");
    let end = "2 calls, 2 publications, 1 notification.\n";
    assert!(shown.ends_with(end), "{shown}");
}

/// Runs an example and returns its output. `cargo test`, `cargo nextest run` and `cargo xtask test` build the
/// examples before the tests, next to the directory of the tests. If only some targets are built, run `cargo
/// build --examples` first.
fn run(example: &str) -> String {
    let own = env::current_exe().expect("a test has a file");
    let target = own.ancestors().nth(2).expect("tests are in target/*/deps");
    let program = target
        .join("examples")
        .join(format!("{example}{EXE_SUFFIX}"));
    let output = Command::new(&program)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{example}: {}\n{words}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    words
}
