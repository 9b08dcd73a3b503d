//! The TypeScript client's own tests: alone, and against the service.

use std::fs;
use std::path::{Path, PathBuf};

use idem_tests_clients::cases::{CASES, plans, run};
use idem_tests_clients::{Town, install};
use serde::Serialize;
use tokio::process::Command;

/// Returns the test files in a directory of the client.
fn files(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).expect("a directory");
    let files = files.map(|file| file.expect("a file").path());
    let tests = files.filter(|file| file.to_string_lossy().ends_with(".test.js"));
    tests.collect()
}

/// A run of the tests in a directory, whose output is TAP.
fn node(program: &Path, dir: &str) -> Command {
    let client = install::typescript();
    let mut command = Command::new(program);
    command
        .args(["--test", "--test-reporter=tap"])
        .args(files(&client.join("test").join(dir)))
        .current_dir(client)
        .kill_on_drop(true);
    command
}

/// Runs tests, and returns what they print.
async fn passed(command: &mut Command) -> String {
    let output = command.output().await.expect("Node is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[tokio::test]
async fn the_client_keeps_its_laws_on_the_oldest_node_the_machines_and_the_newest() {
    let releases = install::node();
    for program in [
        releases.oldest.as_path(),
        Path::new("node"),
        releases.newest.as_path(),
    ] {
        let text = passed(&mut node(program, "unit")).await;
        assert!(
            text.contains("# fail 0") && !text.contains("# pass 0"),
            "{text}"
        );
    }
}

/// Writes a file that tests in another language read.
fn given(dir: &Path, name: &str, value: &impl Serialize) -> PathBuf {
    let file = dir.join(name);
    let text = serde_json::to_string(value).expect("JSON");
    fs::write(&file, text).expect("written");
    file
}

/// `IDEM_CLIENT_CALLS=10000` makes it a long run. Cases and plans are those of the client in Rust.
#[tokio::test(flavor = "multi_thread")]
async fn one_intent_has_one_effect_behind_a_proxy_that_does_harm() {
    let town = Town::open().await;
    let (calls, seed) = run();
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    town.tls.cut_handshakes(2);
    town.tls.cut_every(5);
    let mut tests = node(Path::new("node"), "server");
    tests
        .env("IDEM_TOWN", &town.url)
        .env("IDEM_TOWN_TLS", &town.tls.url)
        .env("NODE_EXTRA_CA_CERTS", town.tls.certificate_file())
        .env("IDEM_CASES", given(dir, "cases.json", &CASES))
        .env("IDEM_PLANS", given(dir, "plans.json", &plans(seed, calls)));
    let text = passed(&mut tests).await;
    let expected = format!("{calls} calls, 0 violations");
    assert!(text.contains(&expected), "seed {seed}: {text}");
    println!("seed {seed}: {expected}");
}

#[test]
fn what_users_write_compiles_and_what_is_wrong_does_not() {
    let client = install::typescript();
    let compiler = client.join("node_modules/.bin/tsc");
    let mut check = std::process::Command::new(compiler);
    install::run(
        check
            .args(["--project", "test/tsconfig.json"])
            .current_dir(client),
    );
}
