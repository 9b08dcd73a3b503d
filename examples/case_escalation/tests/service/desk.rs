//! Opens a service on its own port and database, and sends it an officer's requests.

use std::time::Duration;

use case_escalation::app::{App, routes};
use case_escalation::database::{self, Server};
use case_escalation::notifier::Notifier;
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// A busy machine is given all the time that it needs.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Desk {
    pub(crate) url: String,
    client: Client,
    server: AbortHandle,
    _database: (TempDir, Server),
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
        // With the feature `postgres-nats`, each desk has a server of its own.
        let file = dir.path().join("cases.db").display().to_string();
        let at = (!cfg!(feature = "postgres-nats")).then_some(file);
        let (pool, database) = database::open(at).await.expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        // Nobody listens on port 0.
        let at = if notifier {
            &*url
        } else {
            "http://127.0.0.1:0"
        };
        let app = App::start(pool, Notifier::at(at)).await.expect("a broker");
        let app = routes(app);
        let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self {
            url,
            client: Client::new(),
            server: server.abort_handle(),
            _database: (dir, database),
        }
    }

    pub(crate) async fn escalate(
        &self,
        key: &str,
        case: &str,
        version: i64,
        reason: &str,
    ) -> Answer {
        self.escalate_to(key, case, version, reason, "ada@example.org")
            .await
    }

    pub(crate) async fn escalate_to(
        &self,
        key: &str,
        case: &str,
        version: i64,
        reason: &str,
        supervisor: &str,
    ) -> Answer {
        let path = format!("/cases/{case}/escalations");
        let reason = json!({ "version": version, "reason": reason, "supervisor": supervisor });
        self.command(key, &path, &reason).await
    }

    /// Presses a button of the machinery.
    pub(crate) async fn press(&self, path: &str) {
        let answer = send(self.client.post(format!("{}{path}", self.url))).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "{path}: {answer:?}");
    }

    /// Waits until everything that was committed has arrived.
    pub(crate) async fn arrived(&self) {
        let arrived = timeout(PATIENCE, self.get("/arrived")).await;
        let answer = arrived.expect("everything arrives within a minute");
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
    }

    /// Waits until the service is in a state.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        let reached = async { while !is_so(&self.state().await) {} };
        let reached = timeout(PATIENCE, reached).await;
        reached.unwrap_or_else(|_| panic!("not within a minute: {what}"));
    }

    pub(crate) async fn reconcile(&self) -> Answer {
        send(
            self.client
                .post(format!("{}/notices/reconciliation", self.url)),
        )
        .await
    }

    pub(crate) async fn state(&self) -> Value {
        self.get("/state").await.json()
    }

    pub(crate) async fn tables(&self) -> Value {
        self.state().await["tables"].clone()
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
