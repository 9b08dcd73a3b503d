//! Tests of the page in a browser, which presses its buttons.

use crate::desk::Desk;
use serde_json::json;
use tokio::process::Command;

/// Presses buttons one after the other in a fresh browser, and returns the page after that.
async fn press(desk: &Desk, buttons: &str) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        // The time of the page, which stands still while it waits for an answer.
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("{}/?demo={buttons}", desk.url))
        .kill_on_drop(true)
        .output()
        .await
        .expect("Debian's chromium is installed, by `cargo xtask test` or by hand");
    let page = String::from_utf8(output.stdout).expect("text");
    assert!(page.contains("data-ready=\"yes\""), "{page}");
    page
}

/// Returns the page's texts between two tags, the newest first.
fn between<'p>(page: &'p str, open: &str, close: &str) -> Vec<&'p str> {
    let body = page.split("<script>").next().expect("a page");
    let parts = body.split(open).skip(1);
    parts.filter_map(|part| part.split(close).next()).collect()
}

#[tokio::test]
async fn the_button_pressed_twice_shows_an_answer_and_its_replay() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,escalate,fresh,escalate").await;
    assert_eq!(
        between(&page, "<strong>", "</strong>"),
        ["409 Conflict", "201 Created, replayed", "201 Created"]
    );
    let captions = between(&page, "<caption>", "</caption>");
    for table in [
        "escalation: 1",
        "audit_fact: 1",
        "outbox: 1",
        "idem_record: 2",
    ] {
        assert!(captions.contains(&table), "{captions:?}");
    }
    let tables = desk.tables().await;
    assert_eq!(tables["escalation"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn another_reason_under_the_same_key_is_shown_as_refused() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,otherwise,escalate").await;
    assert_eq!(
        between(&page, "<strong>", "</strong>"),
        ["422 Unprocessable Entity", "201 Created"]
    );
}

#[tokio::test]
async fn a_notice_in_doubt_is_shown_until_it_is_found_out() {
    let desk = Desk::open().await;
    let page = press(&desk, "lost,notify,notify,reconcile,notify").await;
    assert_eq!(
        between(&page, "<strong>", "</strong>"),
        [
            "201 Created, replayed",
            "200 OK",
            "409 Conflict",
            "502 Bad Gateway"
        ]
    );
    let sent = desk.sent().await;
    assert!(
        sent.len() == 1 && sent.values().all(|times| *times == json!(1)),
        "{sent:?}"
    );
}
