//! Opens a service on its own port and database, and sends it an officer's requests.

use case_escalation::app::{App, routes};
use case_escalation::notify::Notifier;
use case_escalation::store;
use idem_axum::Detached;
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

pub(crate) struct Desk {
    pub(crate) url: String,
    client: Client,
    server: AbortHandle,
    _dir: TempDir,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("text"))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// Returns the code of a refusal.
    pub(crate) fn code(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        problem["code"].as_str().expect("a code").to_owned()
    }
}

impl Desk {
    pub(crate) async fn open() -> Self {
        Self::open_with(true).await
    }

    /// Opens a service whose notifier is at an address where nobody listens.
    pub(crate) async fn open_without_a_notifier() -> Self {
        Self::open_with(false).await
    }

    async fn open_with(notifier: bool) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let pool = store::open(&dir.path().join("cases.db")).await;
        let pool = pool.expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        // Nobody listens on port 0.
        let at = if notifier {
            &*url
        } else {
            "http://127.0.0.1:0"
        };
        let notifier = Notifier::at(at);
        let detached = Detached::new(64);
        let app = routes(App {
            pool,
            notifier,
            detached,
        });
        let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self {
            url,
            client: Client::new(),
            server: server.abort_handle(),
            _dir: dir,
        }
    }

    pub(crate) async fn escalate(
        &self,
        key: &str,
        case: &str,
        version: i64,
        reason: &str,
    ) -> Answer {
        let path = format!("/cases/{case}/escalations");
        self.command(key, &path, &json!({ "version": version, "reason": reason }))
            .await
    }

    pub(crate) async fn notify(&self, key: &str, to: &str) -> Answer {
        let words = json!({ "to": to, "text": "please look" });
        self.command(key, "/cases/481/notices", &words).await
    }

    pub(crate) async fn reconcile(&self) -> Answer {
        send(
            self.client
                .post(format!("{}/notices/reconciliation", self.url)),
        )
        .await
    }

    pub(crate) async fn tables(&self) -> Value {
        self.get("/tables").await.json()
    }

    /// Returns the number of notices sent, by key.
    pub(crate) async fn sent(&self) -> Map<String, Value> {
        let sent = self.get("/notifier").await.json();
        sent.as_object().expect("an object").clone()
    }

    pub(crate) async fn page(&self) -> Answer {
        self.get("/").await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.client.get(format!("{}{path}", self.url))).await
    }

    async fn command(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = self
            .client
            .post(format!("{}{path}", self.url))
            .header("idempotency-key", format!("\"{key}\""))
            .header("content-type", "application/json");
        send(request.body(body.to_string())).await
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.expect("an answer");
    Answer {
        status: answer.status(),
        headers: answer.headers().clone(),
        body: answer.text().await.expect("a body"),
    }
}
