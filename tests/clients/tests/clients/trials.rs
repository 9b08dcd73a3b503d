//! What the clients of other authors do, as they are and with settings that heal.

use std::path::{Path, PathBuf};
use std::process::Command;

use idem_tests_clients::{Town, install};

use crate::reqwest_trials;

/// The faults of the trials, each on the first request of an intent.
pub(crate) const PLANS: [&str; 5] = ["lost", "half", "502-after", "409", "425"];

const NODE: [&str; 15] = [
    "fetch",
    "ky",
    "ky, healed",
    "ky, key in beforeRequest",
    "got",
    "got, healed",
    "got, key in beforeRequest",
    "axios",
    "axios-retry",
    "axios-retry, healed",
    "axios-retry, key in an interceptor",
    "undici",
    "undici, RetryAgent",
    "undici, RetryAgent, healed",
    "undici, interceptors.retry, healed",
];

const PYTHON: [&str; 10] = [
    "requests",
    "requests, Retry(3)",
    "requests, healed",
    "urllib3",
    "urllib3, healed",
    "httpx",
    "httpx-retries",
    "httpx-retries, healed",
    "tenacity around requests, key outside",
    "tenacity around requests, key inside",
];

const CURL: [(&str, &[&str]); 3] = [
    ("curl", &[]),
    ("curl --retry 5", &["--retry", "5"]),
    (
        "curl --retry 5 --retry-all-errors",
        &["--retry", "5", "--retry-all-errors"],
    ),
];

/// What came of one fault: how the client ended, and what the proxy and the table show.
async fn cell(town: &Town, name: &str, ended: &str) -> String {
    let requests = town.requests(name);
    assert!(!requests.is_empty(), "{name} has not come through");
    let effects = town.effects(name).await;
    let mut keys: Vec<_> = requests.iter().map(|request| &request.key).collect();
    keys.dedup();
    let ended = match ended {
        "201" => "answered",
        "error" => "error",
        status => status,
    };
    match (requests.len(), keys.len(), effects) {
        (1, ..) => format!("{ended}, not retried"),
        (_, 1, 1) => ended.to_owned(),
        (_, 1, effects) => format!("{ended}, {effects} effects"),
        (_, _, 1) => "a new key: **1 effect**".to_owned(),
        (_, _, effects) => format!("a new key: **{effects} effects**"),
    }
}

/// Tries one setting: `run` gets the addresses, and returns how each order ended.
pub(crate) async fn row(
    town: &Town,
    setting: &str,
    run: impl FnOnce(&[String]) -> String,
) -> String {
    let simple: String = setting
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let names = PLANS.map(|plan| format!("{simple}-{plan}"));
    let is_new = |name: &String| town.requests(name).is_empty();
    assert!(names.iter().all(is_new), "{setting} has another's name");
    let urls: Vec<_> = names
        .iter()
        .zip(PLANS)
        .map(|(name, plan)| format!("{}/f/{name}/{plan}/orders", town.url))
        .collect();
    let ended = tokio::task::block_in_place(|| run(&urls));
    let mut row = format!("| {setting} |");
    let ended: Vec<_> = ended.split_whitespace().collect();
    assert_eq!(ended.len(), names.len(), "{setting}: {ended:?}");
    for (name, ended) in names.iter().zip(ended) {
        row.push(' ');
        row.push_str(&cell(town, name, ended).await);
        row.push_str(" |");
    }
    row + "\n"
}

fn script(program: &Path, script: PathBuf, setting: &str, urls: &[String]) -> String {
    install::run(Command::new(program).arg(script).arg(setting).args(urls))
}

/// Orders by curl, which gets each key on its command line.
pub(crate) fn by_curl(options: &[&str], url: &str, item: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let output = Command::new("curl")
        .args([
            "--silent",
            "--write-out",
            "%{http_code} %{exitcode}",
            "--output",
        ])
        .arg(dir.path().join("answer"))
        .args(options)
        .args(["--header", "content-type: application/json"])
        .args(["--header", &format!("idempotency-key: \"{item}\"")])
        .args(["--data", &format!(r#"{{"item":"{item}"}}"#), url])
        .output()
        .expect("curl is there");
    let text = String::from_utf8(output.stdout).expect("text");
    let (status, exit) = text.rsplit_once(' ').expect("two words");
    // 18: the answer broke off; 52: there was none.
    (if exit == "0" { status } else { "error" }).to_owned()
}

pub(crate) fn item(url: &str) -> &str {
    url.split('/').nth(4).expect("a name")
}

/// Returns the table of all clients.
pub(crate) async fn table(town: &Town) -> String {
    let mut table = String::from(
        "| client | answer lost | cut in the middle | 502 after COMMIT | 409 `in-flight` | 425 |\n|---|---|---|---|---|---|\n",
    );
    let releases = install::node();
    let own = install::root().join("tests/clients");
    // Modules are looked for beside the script.
    let copy = releases.dir.join("trial.mjs");
    std::fs::copy(own.join("node/trial.mjs"), &copy).expect("copied");
    for setting in NODE {
        let run = |urls: &[String]| script(&releases.newest, copy.clone(), setting, urls);
        table.push_str(&row(town, setting, run).await);
    }
    let python = install::python();
    for setting in PYTHON {
        let run = |urls: &[String]| script(&python, own.join("python/trial.py"), setting, urls);
        table.push_str(&row(town, setting, run).await);
    }
    for (setting, options) in CURL {
        let run = |urls: &[String]| {
            let ended = urls.iter().map(|url| by_curl(options, url, item(url)));
            ended.collect::<Vec<_>>().join("\n")
        };
        table.push_str(&row(town, setting, run).await);
    }
    for setting in reqwest_trials::SETTINGS {
        let run = |urls: &[String]| reqwest_trials::ended(setting, urls);
        table.push_str(&row(town, setting, run).await);
    }
    table
}
