//! What the pages show, and to whom.

use crate::client::{Client, console, record};
use crate::story::{append, completed, key, lease, sweep, unknown};
use crate::subject::Subject;

pub(crate) async fn every_page_shows_what_is_there<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, &key("customer-42", "order-1")).await;
    unknown(&subject, &key("customer-42", "order-2")).await;
    lease(&subject, &key("customer-42", "order-3"), "charge").await;
    append(&subject, "cases", "a").await;
    assert_eq!(sweep(&subject, "cases", "no such schema").await, (0, 1));
    let client = Client::of(&subject);
    for (path, texts) in [
        (
            "/",
            &[
                "Unknown outcomes",
                "Last 24 hours",
                "order-3",
                "Dead events",
                "Every record is counted",
            ][..],
        ),
        ("/search", &["Key, or hash of a key"]),
        (
            "/search?q=order-1&by=key",
            &["1 record", "order-1", "completed", "customer-42"],
        ),
        ("/unknown", &["order-2", "charge", "payments"]),
        (
            "/outbox",
            &["cases", "no such schema", "com.example.case.escalated.v1"],
        ),
        ("/health", &["Leases", "order-3", "Records to delete"]),
        ("/changes", &["No operator has changed anything"]),
    ] {
        let page = client.get(path).await.page();
        for text in texts {
            assert!(page.contains(text), "{path}: {text}: {page}");
        }
        assert!(page.starts_with("<!DOCTYPE html>"), "{path}");
        assert!(!page.contains("tangerine"), "{path}");
        assert!(
            !page.contains("<script") && !page.contains("style="),
            "{path}"
        );
    }
    let page = client.get(&record("customer-42", "order-2")).await.page();
    for text in [
        "order-2",
        "unknown",
        "Resolve",
        "Release",
        "the outcome becomes unknown",
        "Key at the provider",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let page = client.get(&record("customer-42", "order-1")).await.page();
    assert!(!page.contains("<form"), "{page}");
}

pub(crate) async fn a_payload_is_shown_to_whom_may_see_it_only<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, &key("customer-42", "order-1")).await;
    let event = append(&subject, "cases", "a").await;
    let addresses = [
        record("customer-42", "order-1"),
        format!("/event?id={}", event.as_str()),
    ];
    let router = console(&subject).router();
    for (who, may) in [("ada", false), ("ada change", false), ("ada reveal", true)] {
        let client = Client::new(router.clone(), who);
        for address in &addresses {
            let page = client.get(address).await.page();
            assert!(!page.contains("tangerine"), "{who}: {page}");
            assert_eq!(page.contains("reveal=yes"), may, "{who}: {page}");
            let revealed = client.get(&format!("{address}&reveal=yes")).await;
            if may {
                assert!(revealed.page().contains("tangerine"), "{who}");
            } else {
                let page = revealed.refused(403, "You may not see payloads").body;
                assert!(!page.contains("tangerine"), "{page}");
            }
        }
    }
}

/// Something that is more than text where it is not escaped, in an attribute too.
const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;";

pub(crate) async fn every_value_is_escaped<S: Subject>() {
    let subject = S::fresh().await;
    let hostile = key(HOSTILE, HOSTILE);
    lease(&subject, &hostile, HOSTILE).await;
    subject.lapse().await;
    let event = append(&subject, "<b>topic</b>", "a").await;
    assert_eq!(sweep(&subject, "<b>topic</b>", HOSTILE).await, (0, 1));
    let now = S::NOW;
    let paused = format!(
        "INSERT INTO idem_outbox_paused (topic, paused_at) VALUES ('<b>paused</b>', {now})"
    );
    subject.run(&paused).await;
    let client = Client::of(&subject);
    let page = record(HOSTILE, HOSTILE);
    let mut paths = vec![
        "/".to_owned(),
        "/unknown".to_owned(),
        "/health".to_owned(),
        "/outbox".to_owned(),
        format!("/event?id={}", event.as_str()),
        page.clone(),
        format!("{page}&reveal=yes"),
        format!("{page}&done={}", "%22%3E%3Cscript%3E"),
    ];
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("q", HOSTILE),
            ("scope", HOSTILE),
            ("namespace", "payments"),
        ])
        .finish();
    paths.push(format!("/search?{query}"));
    paths.push(format!("/search?by=hash&{query}"));
    for path in &paths {
        let page = client.get(path).await.body;
        for raw in ["<script>alert", "<img", "<b>", "\"><"] {
            // The frame has the last one where one element ends and another begins.
            let found = if raw == "\"><" {
                page.contains("\"><script")
            } else {
                page.contains(raw)
            };
            assert!(!found, "{path}: {raw}: {page}");
        }
    }
    // It is shown, as text; and what a form sends is what was stored.
    let shown = client.get(&page).await.page();
    assert!(shown.contains("&lt;script&gt;alert(1)"), "{shown}");
    let fields = [("outcome", "never-happened"), ("reason", HOSTILE)];
    let done = client.fill(&page, "/record/resolve", &fields).await;
    done.sent_to();
    for path in ["/changes", &page] {
        let page = client.get(path).await.page();
        assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
        assert!(
            !page.contains("<script") && !page.contains("<img"),
            "{page}"
        );
    }
}

pub(crate) async fn replays_and_conflicts_are_shown_where_the_process_is_asked_for_only<
    S: Subject,
>() {
    let subject = S::fresh().await;
    let text = "Replays and conflicts write nothing";
    let page = Client::of(&subject).get("/").await.page();
    assert!(!page.contains(text), "{page}");
    let router = console(&subject).process_counts().router();
    let page = Client::new(router, "ada").get("/").await.page();
    assert!(
        page.contains(text) && page.contains("Calls of this process"),
        "{page}"
    );
}
