//! Tests of the page in a browser, which presses its buttons.

use crate::desk::Desk;
use idem_tests_cluster::browser;
use tokio::process::Command;

/// Presses buttons one after the other in a fresh browser, and returns the page after that.
async fn press(desk: &Desk, buttons: &str) -> String {
    press_in(desk, buttons, 1200).await
}

/// The same in a window of this width, in pixels.
async fn press_in(desk: &Desk, buttons: &str, width: u32) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::from(browser::command(profile.path()))
        .arg(format!("--window-size={width},900"))
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

#[tokio::test(flavor = "multi_thread")]
async fn the_button_pressed_twice_shows_an_answer_and_its_replay() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,escalate,fresh,escalate").await;
    assert_eq!(
        between(&page, "<strong>", "</strong>"),
        ["409 Conflict", "201 Created, replayed", "201 Created"]
    );
    let tables = desk.tables().await;
    assert_eq!(tables["escalation"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_reason_under_the_same_key_is_shown_as_refused() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,otherwise,escalate").await;
    assert_eq!(
        between(&page, "<strong>", "</strong>"),
        ["422 Unprocessable Entity", "201 Created"]
    );
}

/// Asserts that the page shows one escalation that has reached each stage, and one notice that was sent once.
fn assert_once(page: &str) {
    let captions = between(page, "<caption>", "</caption>");
    for table in [
        "escalations: 1",
        "sent by the notifier: 1",
        "notice: 1",
        "overview: 1",
    ] {
        assert!(captions.contains(&table), "{table}: {captions:?}");
    }
    let stages = page
        .split("escalations: 1</caption>")
        .nth(1)
        .expect("the table");
    let stages = stages.split("</table>").next().expect("its end");
    for cell in ["completed", "applied"] {
        assert_eq!(
            stages.matches(&format!("<td>{cell}</td>")).count(),
            1,
            "{stages}"
        );
    }
    let sent = page
        .split("sent by the notifier: 1</caption>")
        .nth(1)
        .expect("the table");
    let sent = sent.split("</table>").next().expect("its end");
    assert!(sent.contains("<td>1</td>"), "{sent}");
}

/// Returns what the page says of the machinery.
fn machinery(page: &str) -> &str {
    between(page, "<p id=\"machinery\">", "</p>")[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_delivered_again_changes_nothing_on_the_page_but_the_deliveries() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,arrived,again,arrived,other,arrived").await;
    assert_once(&page);
    assert_eq!(
        machinery(&page),
        "The relay: runs. The broker: runs. Deliveries: 3 to notifier, 3 to overview."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_relay_holds_the_event_back_until_it_is_started() {
    let desk = Desk::open().await;
    let page = press(&desk, "kill,escalate").await;
    assert_eq!(
        machinery(&page),
        "The relay: killed. The broker: runs. Deliveries: none."
    );
    assert!(page.contains("<td>none yet</td>"), "{page}");
    let page = press(&desk, "relay,arrived").await;
    assert_once(&page);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_broker_holds_the_event_back_until_it_is_started() {
    let desk = Desk::open().await;
    let page = press(&desk, "stop,escalate").await;
    assert_eq!(
        machinery(&page),
        "The relay: runs. The broker: stopped. Deliveries: none."
    );
    assert!(page.contains("<td>none yet</td>"), "{page}");
    let page = press(&desk, "broker,arrived").await;
    assert_once(&page);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_in_doubt_is_shown_until_it_is_found_out() {
    let desk = Desk::open().await;
    let page = press(&desk, "lost,escalate,arrived").await;
    assert!(page.contains("<td>unknown</td>"), "{page}");
    let page = press(&desk, "reconcile,arrived").await;
    assert_once(&page);
}

/// Returns the letters of the keys in the answers, the newest first.
fn letters(page: &str) -> Vec<&str> {
    let answers = page.split("id=\"answers\"").nth(1).expect("the answers");
    let answers = answers.split("<h2>").next().expect("their end");
    let letters = answers.split("class=\"key\"").skip(1);
    letters
        .filter_map(|letter| letter.split('>').nth(1)?.split('<').next())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_one_key_have_one_letter_and_those_of_another_key_another() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,escalate,fresh,escalate").await;
    assert_eq!(letters(&page), ["B", "A", "A"]);
    let field = between(&page, "<span id=\"tag\">", "</label>");
    assert!(field[0].contains(">B</span>"), "{field:?}");
    // The record of the first key is among what is stored, with its letter.
    let tables = page.split("id=\"tables\"").nth(1).expect("the tables");
    assert!(tables.contains(">A</span>"), "{tables}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_where_to_begin_and_what_each_colour_means() {
    let desk = Desk::open().await;
    let page = press(&desk, "escalate,escalate,otherwise,escalate").await;
    let first = between(&page, "<ol id=\"first\">", "</ol>")[0];
    assert!(first.contains("<b>Escalate</b>"), "{first}");
    let legend = between(&page, "<ul id=\"legend\">", "</ul>")[0];
    for class in ["done", "replayed", "refused"] {
        assert!(
            legend.contains(&format!("<i class=\"{class}\">")),
            "{legend}"
        );
        assert!(
            page.contains(&format!("<article class=\"{class}\">")),
            "{page}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrow_window_need_not_be_scrolled_sideways() {
    let desk = Desk::open().await;
    let page = press_in(&desk, "escalate,escalate,arrived", 420).await;
    assert!(
        page.contains("data-overflow=\"0\""),
        "{}",
        page.split("<h1").next().unwrap_or_default()
    );
}
