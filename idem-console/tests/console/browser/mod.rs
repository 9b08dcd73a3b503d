//! The pages in Chromium, on SQLite: clicks, keys, a phone, the dark, and nothing from elsewhere.

mod chromium;

use std::fmt::Write as _;

use axum::Router;
use http::Request;
use idem_tests::patience::in_time;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use self::chromium::Tab;
use crate::client::{console, record};
use crate::story::{append, audited, completed, count, key, lease, sweep, unknown};
use crate::subject::{Sqlite, Subject};

/// A console on a port of its own.
struct Served {
    url: String,
    server: AbortHandle,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Serves the console to whoever opens it in this browser.
async fn serve(router: Router) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
    Served {
        url,
        server: server.abort_handle(),
    }
}

/// A database where something waits for somebody.
async fn troubled() -> Sqlite {
    let subject = Sqlite::fresh().await;
    subject.fill(23, 40).await;
    let long = "a-key-of-a-client-that-likes-long-keys-".repeat(5);
    for (scope, name) in [("customer-42", "order-17"), ("customer-43", &*long)] {
        unknown(&subject, &key(scope, name)).await;
    }
    lease(&subject, &key("customer-44", "order-18"), "charge").await;
    subject.lapse().await;
    lease(&subject, &key("customer-45", "order-19"), "charge").await;
    completed(&subject, &key("customer-46", "order-20")).await;
    append(&subject, "cases", "a").await;
    append(&subject, "mails", "b").await;
    let error = "the schema registry has no such subject: https://registry.internal.example/subjects/cases-value/versions/latest";
    assert_eq!(sweep(&subject, "cases", error).await, (1, 1));
    subject
}

async fn open(router: Router) -> (Served, Tab) {
    let served = serve(router).await;
    let tab = Tab::open(&[("who", "ada change reveal")]).await;
    (served, tab)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_is_resolved_by_clicks() {
    let subject = troubled().await;
    let (served, mut tab) = open(console(&subject).router()).await;
    tab.go(&served.url).await;
    tab.click("nav a[href='/unknown']").await;
    tab.click("a[href*='order-17']").await;
    assert!(tab.text("h1").await.contains("order-17"));
    tab.tick("#completed").await;
    tab.write("#result", "{\"charge\":\"ch_17\"}").await;
    // Without a reason the browser sends nothing.
    tab.press_button("form[action='/record/resolve'] button")
        .await;
    assert_eq!(count(&subject, 4).await, 2);
    tab.write("#resolve-reason", "the provider has it").await;
    tab.click("form[action='/record/resolve'] button").await;
    assert_eq!(tab.text(".done").await, "The outcome is resolved.");
    assert!(tab.text("dl.pairs").await.contains("completed"));
    assert_eq!(count(&subject, 4).await, 1);
    let row = "actor = 'ada' AND action = 'resolve' AND reason = 'the provider has it'";
    assert_eq!(audited(&subject, row).await, 1);
    tab.assert_asked_only(&served.url);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_event_is_requeued_by_clicks() {
    let subject = troubled().await;
    let router = Router::new().nest("/ops", console(&subject).router());
    let (served, mut tab) = open(router).await;
    tab.go(&format!("{}/ops", served.url)).await;
    tab.click("nav a[href='/ops/outbox']").await;
    tab.click("table a[href^='/ops/event']").await;
    tab.write("#requeue-reason", "the subject is there now")
        .await;
    tab.click("form button").await;
    assert!(tab.text(".done").await.contains("a relay publishes again"));
    assert_eq!(audited(&subject, "action = 'requeue'").await, 1);
    assert_eq!(sweep(&subject, "", "").await, (1, 0));
    tab.assert_asked_only(&served.url);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lapsed_lease_is_released_by_the_keyboard_alone() {
    let subject = troubled().await;
    let (served, mut tab) = open(console(&subject).router()).await;
    tab.go(&format!(
        "{}{}",
        served.url,
        record("customer-44", "order-18")
    ))
    .await;
    // The first thing is the way past the navigation.
    tab.tab().await;
    assert_eq!(tab.focused().await, "Skip to the content");
    let ring = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(tab.evaluate(ring).await, json!("solid"));
    tab.enter().await;
    assert_eq!(
        tab.evaluate("document.activeElement.id").await,
        json!("main")
    );
    // Then everything that can be done, in the order of the page.
    let mut seen = Vec::new();
    while tab.focused().await != "release-reason" {
        tab.tab().await;
        seen.push(tab.focused().await);
        assert!(seen.len() < 40, "{seen:?}");
    }
    for field in [
        "completed",
        "result",
        "class",
        "message",
        "resolve-reason",
        "Resolve",
    ] {
        assert!(seen.contains(&field.to_owned()), "{field}: {seen:?}");
    }
    tab.keys("the node is gone").await;
    tab.tab().await;
    assert_eq!(tab.focused().await, "Release the key");
    tab.enter_and_load().await;
    assert!(tab.text(".done").await.contains("The key is released"));
    assert_eq!(
        audited(
            &subject,
            "action = 'release' AND reason = 'the node is gone'"
        )
        .await,
        1
    );
}

/// What a screen reader and a keyboard need of a page, as a list of what is missing.
const MISSING: &str = r"(() => {
    const missing = [];
    const one = (selector) => document.querySelectorAll(selector).length === 1 || missing.push('one ' + selector);
    ['main', 'h1', 'nav[aria-label]', 'header', 'footer', 'title', 'html[lang]'].forEach(one);
    for (const field of document.querySelectorAll('input:not([type=hidden]), textarea'))
        if (!field.labels.length) missing.push('label of ' + field.outerHTML);
    for (const table of document.querySelectorAll('table')) {
        if (!table.caption) missing.push('caption');
        if (!table.querySelector('thead th[scope=col]') || !table.querySelector('tbody th[scope=row]')) missing.push('headers');
    }
    for (const section of document.querySelectorAll('section'))
        if (!document.getElementById(section.getAttribute('aria-labelledby'))) missing.push('name of a section');
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    if (new Set(ids).size !== ids.length) missing.push('ids of their own: ' + ids);
    let level = 1;
    for (const heading of document.querySelectorAll('h1, h2, h3')) {
        const own = Number(heading.tagName[1]);
        if (own > level + 1) missing.push('a level before ' + heading.textContent);
        level = own;
    }
    if (document.querySelector('[style], script, [onclick]')) missing.push('a page without script and style');
    return missing;
})()";

/// The texts whose contrast with what is behind them is below 4.5, as WCAG 2.2 counts it.
const FAINT: &str = r"(() => {
    const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour.length < 4 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim()) continue;
        const [one, other] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < 4.5) faint.push([element.outerHTML.slice(0, 80), contrast]);
    }
    return faint;
})()";

/// The elements that are wider than the window, where the page is.
const WIDE: &str = r"(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > width)
        .map((element) => element.outerHTML.slice(0, 100));
})()";

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_fit_for_a_phone_a_screen_reader_and_the_dark() {
    let subject = troubled().await;
    let now = Sqlite::NOW;
    subject
        .run(&format!(
            "INSERT INTO idem_outbox_paused (topic, paused_at) VALUES ('mails', {now})"
        ))
        .await;
    let (served, mut tab) = open(console(&subject).process_counts().handlers().router()).await;
    let event = subject.dead_event().await;
    let long = "a-key-of-a-client-that-likes-long-keys-".repeat(5);
    let mut paths = vec![
        ("overview", "/".to_owned()),
        ("search", "/search?q=order-17".to_owned()),
        ("unknown", "/unknown".to_owned()),
        ("outbox", "/outbox".to_owned()),
        ("health", "/health".to_owned()),
        ("handlers", "/handlers".to_owned()),
        (
            "handler",
            "/handler?namespace=payments&operation=charge".to_owned(),
        ),
        ("nowhere", "/nowhere".to_owned()),
        ("record", record("customer-42", "order-17")),
        ("long", record("customer-43", &long)),
        (
            "completed",
            format!("{}&reveal=yes", record("customer-46", "order-20")),
        ),
        ("event", format!("/event?id={event}&reveal=yes")),
    ];
    tab.go(&format!("{}{}", served.url, paths[8].1)).await;
    tab.tick("#never").await;
    tab.write("#resolve-reason", "ticket 17").await;
    tab.click("form[action='/record/resolve'] button").await;
    paths.push(("changes", "/changes".to_owned()));
    let folder = std::env::var_os("IDEM_SCREENSHOTS").map(std::path::PathBuf::from);
    for (name, path) in &paths {
        for (dark, width) in [(false, 1280), (true, 1280), (false, 420), (true, 360)] {
            tab.look(width, dark).await;
            tab.go(&format!("{}{path}", served.url)).await;
            for (law, script) in [("missing", MISSING), ("faint", FAINT), ("too wide", WIDE)] {
                let found = tab.evaluate(script).await;
                assert_eq!(found, json!([]), "{path}, {width}, dark: {dark}: {law}");
            }
            if let Some(folder) = &folder {
                let mode = if dark { "dark" } else { "light" };
                tab.shoot(&folder.join(format!("{name}-{width}-{mode}.png")))
                    .await;
            }
        }
    }
    let paper = "getComputedStyle(document.body).backgroundColor";
    tab.look(1280, false).await;
    let light = tab.evaluate(paper).await;
    tab.look(1280, true).await;
    assert_ne!(tab.evaluate(paper).await, light);
    tab.assert_asked_only(&served.url);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_has_sent_runs_nothing_and_no_other_page_sends_a_form() {
    let subject = Sqlite::fresh().await;
    let hostile =
        "\"><img src=x onerror=document.title='run'><script>document.title='run'</script>";
    unknown(&subject, &key(hostile, hostile)).await;
    let (served, mut tab) = open(console(&subject).router()).await;
    for path in ["/", "/unknown", "/health", &record(hostile, hostile)] {
        tab.go(&format!("{}{path}", served.url)).await;
        assert_ne!(tab.evaluate("document.title").await, json!("run"), "{path}");
        assert_eq!(
            tab.evaluate("document.querySelectorAll('img, script').length")
                .await,
            json!(0)
        );
    }
    // The policy stands even where a page would have a script.
    let injected = "(() => { const s = document.createElement('script'); s.textContent = 'document.title = \"run\"'; \
                    document.body.append(s); return document.title })()";
    assert_ne!(tab.evaluate(injected).await, json!("run"));
    // A page of another origin sends the form that it can make up.
    let target = format!("{}/record/release", served.url);
    let fields =
        json!({ "namespace": "payments", "scope": hostile, "key": hostile, "reason": "r" });
    let evil = serve(Router::new().fallback(move |_: Request<axum::body::Body>| {
        let page = forged(&target, &fields);
        async move { axum::response::Html(page) }
    }))
    .await;
    tab.go(&evil.url).await;
    tab.click("button").await;
    assert!(
        in_time("the answer", tab.text("h1"))
            .await
            .contains("Not allowed")
    );
    assert_eq!(count(&subject, 4).await, 1);
    assert_eq!(audited(&subject, "1 = 1").await, 0);
    // Nor can it show the console in a frame.
    let framed = format!("<iframe src=\"{}/\"></iframe>", served.url);
    let frame =
        serve(Router::new().fallback(move || async move { axum::response::Html(framed) })).await;
    tab.go(&frame.url).await;
    let shown = "(() => { try { return document.querySelector('iframe').contentDocument?.title ?? 'blocked' } catch { return 'blocked' } })()";
    assert_eq!(tab.evaluate(shown).await, json!("blocked"));
}

/// A page of another origin with a form for the console.
fn forged(target: &str, fields: &Value) -> String {
    let mut page = format!("<form method=\"post\" action=\"{target}\">");
    for (name, value) in fields.as_object().expect("fields") {
        let value = value.as_str().expect("text").replace('"', "&quot;");
        let _ = write!(
            page,
            "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"
        );
    }
    page + "<button>A prize</button></form>"
}
