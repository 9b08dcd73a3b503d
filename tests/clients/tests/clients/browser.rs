//! The client in a real browser.

use idem_tests_clients::{Town, install};
use tokio::process::Command;

/// Plays a scene of the page, and returns what it shows.
async fn play(town: &Town, scene: &str) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("{}/page?scene={scene}", town.url))
        .kill_on_drop(true)
        .output()
        .await
        .expect("Debian's chromium is installed, by `cargo xtask test` or by hand");
    let page = String::from_utf8(output.stdout).expect("text");
    assert!(page.contains("data-ready=\"yes\""), "{page}");
    let result = page.split("<pre id=\"result\">").nth(1).expect("a result");
    result.split('<').next().expect("text").to_owned()
}

async fn town() -> Town {
    Town::open_with(install::modules()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_has_one_effect_and_both_get_the_answer() {
    let shown = play(&town().await, "double").await;
    assert_eq!(shown, "201,201; 1 key, 1 effect, no key left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fails_until_the_network_is_back_has_one_effect() {
    let shown = play(&town().await, "offline").await;
    assert_eq!(shown, "201; 1 key, 1 effect, no key left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_loaded_again_during_its_request_asks_with_the_same_key() {
    let shown = play(&town().await, "reload").await;
    assert_eq!(shown, "201; 1 key, 1 effect, no key left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_sends_a_post_again_by_itself_on_a_connection_that_was_used_before() {
    let town = town().await;
    let shown = play(&town, "kept").await;
    assert_eq!(town.requests("browser-kept").len(), 2);
    assert_eq!(shown, "201; 1 key, 1 effect, no key left");
}
