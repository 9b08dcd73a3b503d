//! A client that orders, with a clock whose pauses take no time and are written down.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use idem_client::{Clock, Pause, RetryPolicy};
use idem_tests_clients::Town;
use reqwest::tls::Certificate;
use reqwest_middleware::{ClientWithMiddleware, RequestBuilder};

/// The machine's clock without its pauses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hurried(Arc<Mutex<Vec<Duration>>>);

impl Hurried {
    /// Returns the pauses that were asked for.
    pub(crate) fn pauses(&self) -> Vec<Duration> {
        let pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.clone()
    }
}

impl Clock for Hurried {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn date(&self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&self) -> f64 {
        0.5
    }

    fn pause(&self, time: Duration) -> Pause<'_> {
        let mut pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.push(time);
        Box::pin(tokio::task::yield_now())
    }
}

/// A policy that no fault of a plan uses up, and that no busy machine does.
pub(crate) fn policy(clock: &Hurried) -> RetryPolicy {
    RetryPolicy::new()
        .attempts(12)
        .total(Duration::from_mins(30))
        .attempt_timeout(Duration::from_mins(2))
        .clock(clock.clone())
}

/// Returns a builder that trusts the town.
pub(crate) fn trusting(town: &Town) -> reqwest::ClientBuilder {
    let certificate = town.tls.certificate.as_bytes();
    let certificate = Certificate::from_pem(certificate).expect("a certificate");
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([certificate])
}

/// Returns the client, as an application would make it.
pub(crate) fn client(town: &Town, policy: RetryPolicy) -> ClientWithMiddleware {
    idem_client::client(trusting(town), policy).expect("a client")
}

/// Returns the client over HTTP/2, which it begins without TLS.
pub(crate) fn client_of_http2(town: &Town) -> ClientWithMiddleware {
    let builder = trusting(town).http2_prior_knowledge();
    idem_client::client(builder, policy(&Hurried::default())).expect("a client")
}

/// Returns the body of an order.
pub(crate) fn body(item: &str) -> String {
    serde_json::json!({ "item": item }).to_string()
}

/// Orders an item through a plan of faults. The item is the plan's name too. `door` is the address of the proxy.
pub(crate) fn order(
    client: &ClientWithMiddleware,
    door: &str,
    item: &str,
    plan: &str,
) -> RequestBuilder {
    client
        .post(format!("{door}/f/{item}/{plan}/orders"))
        .header("content-type", "application/json")
        .body(body(item))
}

/// Reads the body of an answer as JSON: null if it is none.
pub(crate) async fn json(answer: reqwest::Response) -> serde_json::Value {
    let body = answer.bytes().await.expect("a body");
    serde_json::from_slice(&body).unwrap_or_default()
}

/// Returns the keys that the proxy has received under this name, each once.
pub(crate) fn keys(town: &Town, item: &str) -> Vec<Option<String>> {
    let requests = town.requests(item).into_iter();
    let mut keys: Vec<_> = requests.map(|request| request.key).collect();
    keys.sort();
    keys.dedup();
    keys
}
