//! Chromium, told what to do by its debugging protocol over pipes: what a hand does with mouse and keys.

use std::path::Path;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idem_tests::patience::in_time;
use idem_tests_cluster::browser;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// One tab of a browser of its own.
pub(crate) struct Tab {
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// What the browser has told without being asked.
    events: Vec<Value>,
    /// Every address that it has asked for.
    asked: Vec<String>,
    _browser: Child,
    _profile: TempDir,
}

/// The browser reads the descriptor 3 and writes to 4; the shell connects them with the pipes of the process.
const CONNECT: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

impl Tab {
    /// Opens a browser that sends these headers with every request.
    pub(crate) async fn open(headers: &[(&str, &str)]) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        let chromium = browser::command(profile.path());
        let mut command = Command::new("sh");
        command
            .args(["-c", CONNECT, "sh"])
            .arg(chromium.get_program())
            .args(chromium.get_args())
            .arg("--remote-debugging-pipe")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut browser = command.spawn().expect("a shell");
        let mut tab = Self {
            orders: browser.stdin.take().expect("a pipe"),
            answers: BufReader::new(browser.stdout.take().expect("a pipe")),
            session: None,
            number: 0,
            events: Vec::new(),
            asked: Vec::new(),
            _browser: browser,
            _profile: profile,
        };
        let target = tab
            .order("Target.createTarget", json!({ "url": "about:blank" }))
            .await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = tab.order("Target.attachToTarget", attach).await;
        tab.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Network.enable", "Runtime.enable"] {
            tab.order(domain, json!({})).await;
        }
        let headers: serde_json::Map<_, _> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        tab.order("Network.setExtraHTTPHeaders", json!({ "headers": headers }))
            .await;
        tab
    }

    /// Gives an order, and returns the answer to it.
    async fn order(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        let mut order = json!({ "id": number, "method": method, "params": params });
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let text = format!("{order}\0");
        self.orders
            .write_all(text.as_bytes())
            .await
            .expect("the browser runs");
        loop {
            let told = self.next().await;
            if told["id"] == json!(number) {
                assert!(told["error"].is_null(), "{method}: {told}");
                return told["result"].clone();
            }
            self.events.push(told);
        }
    }

    async fn next(&mut self) -> Value {
        let mut text = Vec::new();
        let read = in_time("the browser", self.answers.read_until(0, &mut text)).await;
        assert!(
            read.expect("a pipe") > 0,
            "Debian's chromium is installed, by `cargo xtask test` or by hand"
        );
        text.pop();
        let told: Value = serde_json::from_slice(&text).expect("JSON");
        if told["method"] == "Network.requestWillBeSent" {
            let url = told["params"]["request"]["url"]
                .as_str()
                .expect("an address");
            self.asked.push(url.to_owned());
        }
        told
    }

    /// Waits until a page has loaded after what was done since the events were forgotten.
    async fn loaded(&mut self) {
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let told = self.next().await;
            self.events.push(told);
        }
    }

    pub(crate) async fn go(&mut self, url: &str) {
        self.events.clear();
        let gone = self.order("Page.navigate", json!({ "url": url })).await;
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.loaded().await;
    }

    /// Returns the value of a script.
    pub(crate) async fn evaluate(&mut self, script: &str) -> Value {
        let params = json!({ "expression": script, "returnByValue": true });
        let done = self.order("Runtime.evaluate", params).await;
        assert!(done["exceptionDetails"].is_null(), "{script}: {done}");
        done["result"]["value"].clone()
    }

    /// Returns the text of the first element.
    pub(crate) async fn text(&mut self, selector: &str) -> String {
        let script = format!(
            "document.querySelector({})?.innerText ?? ''",
            json!(selector)
        );
        self.evaluate(&script)
            .await
            .as_str()
            .expect("text")
            .to_owned()
    }

    /// Clicks in the middle of an element.
    pub(crate) async fn press_button(&mut self, selector: &str) {
        let script = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] }})()",
            json!(selector)
        );
        let at = self.evaluate(&script).await;
        for kind in ["mousePressed", "mouseReleased"] {
            let params =
                json!({ "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1 });
            self.order("Input.dispatchMouseEvent", params).await;
        }
    }

    /// Clicks something that leads to another page, and waits for it.
    pub(crate) async fn click(&mut self, selector: &str) {
        self.events.clear();
        self.press_button(selector).await;
        self.loaded().await;
    }

    /// Clicks a choice.
    pub(crate) async fn tick(&mut self, selector: &str) {
        self.press_button(selector).await;
        let script = format!("document.querySelector({}).checked", json!(selector));
        assert_eq!(self.evaluate(&script).await, json!(true), "{selector}");
    }

    /// Clicks into a field and writes.
    pub(crate) async fn write(&mut self, selector: &str, text: &str) {
        self.press_button(selector).await;
        self.keys(text).await;
    }

    pub(crate) async fn keys(&mut self, text: &str) {
        self.order("Input.insertText", json!({ "text": text }))
            .await;
    }

    async fn key(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let params = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.order("Input.dispatchKeyEvent", params).await;
        }
    }

    pub(crate) async fn tab(&mut self) {
        self.key("Tab", 9, "").await;
    }

    pub(crate) async fn enter(&mut self) {
        self.key("Enter", 13, "\r").await;
    }

    pub(crate) async fn enter_and_load(&mut self) {
        self.events.clear();
        self.enter().await;
        self.loaded().await;
    }

    /// Returns the id of what has the focus, or else its text.
    pub(crate) async fn focused(&mut self) -> String {
        let script = "document.activeElement.id || document.activeElement.innerText";
        self.evaluate(script)
            .await
            .as_str()
            .expect("text")
            .to_owned()
    }

    /// Sets the width of the window, and whether its user prefers the dark.
    pub(crate) async fn look(&mut self, width: u32, dark: bool) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.order("Emulation.setDeviceMetricsOverride", size).await;
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.order("Emulation.setEmulatedMedia", features).await;
    }

    /// Writes the whole page as a picture.
    pub(crate) async fn shoot(&mut self, file: &Path) {
        let shot = json!({ "captureBeyondViewport": true });
        let shot = self.order("Page.captureScreenshot", shot).await;
        let picture = STANDARD.decode(shot["data"].as_str().expect("text"));
        std::fs::write(file, picture.expect("base64")).expect("a folder");
    }

    /// Asserts that nothing was asked for elsewhere.
    pub(crate) fn assert_asked_only(&self, url: &str) {
        assert!(!self.asked.is_empty());
        for asked in &self.asked {
            assert!(asked.starts_with(url), "{asked}");
        }
    }
}
