//! Lock files of three programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const BEFORE: &str = env!("CARGO_BIN_EXE_before");
const AFTER: &str = env!("CARGO_BIN_EXE_after");
const TWICE: &str = env!("CARGO_BIN_EXE_twice");

/// Runs a program; returns whether it found no fault, and what it printed.
fn run(program: &str, file: &Path, mode: Option<&str>) -> (bool, String) {
    let mut command = Command::new(program);
    command.arg(file).env_remove("IDEM_LOCK");
    if let Some(mode) = mode {
        command.env("IDEM_LOCK", mode);
    }
    let output = command.output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status.success(), text)
}

fn fresh() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("idem.lock");
    (dir, path)
}

/// Compares a text with the file of this name beside the manifest; writes it if `IDEM_LOCK` says so.
#[track_caller]
fn blessed(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("IDEM_LOCK").is_some_and(|mode| mode == "overwrite") {
        fs::write(&path, text).expect("it is written");
    }
    let known = fs::read_to_string(&path).expect("it was blessed: IDEM_LOCK=overwrite");
    assert_eq!(text, known, "{name}");
}

#[test]
fn a_file_is_written_on_request_and_then_holds() {
    let (_dir, file) = fresh();
    let (held, said) = run(BEFORE, &file, None);
    assert!(!held && said.contains("there is no lock file"), "{said}");
    assert!(!file.exists(), "nothing is written unasked");
    assert_eq!(run(BEFORE, &file, Some("overwrite")), (true, String::new()));
    assert_eq!(run(BEFORE, &file, None), (true, String::new()));
    assert_eq!(run(BEFORE, &file, Some("")), (true, String::new()));
    blessed("before.lock", &fs::read_to_string(&file).expect("written"));
}

#[test]
fn a_change_is_shown_with_what_it_means_and_the_compatible_way() {
    let (_dir, file) = fresh();
    run(BEFORE, &file, Some("overwrite"));
    let written = fs::read_to_string(&file).expect("written");
    let (held, said) = run(AFTER, &file, None);
    assert!(!held);
    let directory = file.parent().expect("a directory").display().to_string();
    blessed("after.txt", &said.replace(&directory, ".."));
    assert_eq!(
        fs::read_to_string(&file).expect("there"),
        written,
        "it is as it was"
    );
    // Once it is meant, it is written.
    assert_eq!(run(AFTER, &file, Some("overwrite")), (true, String::new()));
    assert_eq!(run(AFTER, &file, None), (true, String::new()));
}

#[test]
fn two_handlers_of_one_operation_are_found_and_no_file_is_written() {
    let (_dir, file) = fresh();
    for mode in [None, Some("overwrite")] {
        let (held, said) = run(TWICE, &file, mode);
        assert!(
            !held && said.contains("`create` in namespace `shop`"),
            "{said}"
        );
        assert!(
            said.contains("twice::order") && said.contains("twice::invoice"),
            "{said}"
        );
        assert!(!file.exists());
    }
}

#[test]
fn a_handler_that_is_not_linked_is_missed() {
    let (_dir, file) = fresh();
    run(BEFORE, &file, Some("overwrite"));
    let known = fs::read_to_string(&file).expect("written");
    let more = "\n[[operation]]\nnamespace = \"desk\"\nname = \"desk.close\"\nretention = \"1d\"\nresult_version = 1\n";
    fs::write(&file, known + more).expect("written");
    let (held, said) = run(BEFORE, &file, None);
    assert!(
        !held && said.contains("`desk.close` in namespace `desk`\n  - the operation"),
        "{said}"
    );
    assert!(said.contains("its crate is not linked here"), "{said}");
}

#[test]
fn a_file_that_is_none_and_a_mode_that_is_none_are_sentences() {
    let (_dir, file) = fresh();
    for (text, why) in [
        ("[[operation]", "TOML parse error"),
        ("[[operation]]\nnamespace = 1", "invalid type"),
        (
            "[[operation]]\nnamespace = \"a\"\nname = \"b\"\nretention = \"soon\"\nresult_version = 1",
            "is no duration",
        ),
        (
            "[[operation]]\nnamespace = \"a\"\nname = \"b\"\nretention = \"1d\"\nresult_version = 1\ncolour = 1",
            "unknown field",
        ),
    ] {
        fs::write(&file, text).expect("written");
        let (held, said) = run(BEFORE, &file, None);
        assert!(
            !held && said.contains("cannot be understood") && said.contains(why),
            "{said}"
        );
    }
    let (held, said) = run(BEFORE, &file, Some("write"));
    assert!(
        !held && said.starts_with("`IDEM_LOCK=write` has no meaning"),
        "{said}"
    );
    let (held, said) = run(BEFORE, &file.join("below"), None);
    assert!(!held && said.starts_with("the lock file `"), "{said}");
}
