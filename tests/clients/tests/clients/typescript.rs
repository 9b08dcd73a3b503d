//! The TypeScript client's own tests: alone, and against the service.

use std::env;
use std::path::{Path, PathBuf};

use idem_tests_clients::{Town, install};
use tokio::process::Command;

/// Returns the test files in a directory of the client.
fn files(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).expect("a directory");
    let files = files.map(|file| file.expect("a file").path());
    let tests = files.filter(|file| file.to_string_lossy().ends_with(".test.js"));
    tests.collect()
}

/// Runs the tests in a directory, and returns what they print.
async fn node(program: &Path, dir: &str, town: &str) -> String {
    let client = install::typescript();
    let output = Command::new(program)
        .args(["--test", "--test-reporter=tap"])
        .args(files(&client.join("test").join(dir)))
        .env("IDEM_TOWN", town)
        .current_dir(client)
        .kill_on_drop(true)
        .output()
        .await
        .expect("Node is there");
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
        let text = node(program, "unit", "").await;
        assert!(
            text.contains("# fail 0") && !text.contains("# pass 0"),
            "{text}"
        );
    }
}

/// `IDEM_CLIENT_CALLS=10000` makes it a long run.
#[tokio::test(flavor = "multi_thread")]
async fn one_intent_has_one_effect_behind_a_proxy_that_does_harm() {
    let town = Town::open().await;
    let text = node(Path::new("node"), "server", &town.url).await;
    let calls = env::var("IDEM_CLIENT_CALLS").unwrap_or_else(|_| "500".to_owned());
    assert!(
        text.contains(&format!("{calls} calls, 0 violations")),
        "{text}"
    );
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
