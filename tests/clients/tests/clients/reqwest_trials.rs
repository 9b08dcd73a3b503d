//! reqwest, its own retries, reqwest-retry, and the client of this repository.

use std::time::Duration;

use idem_client::{Key, RetryPolicy};
use reqwest::header::HeaderValue;
use reqwest::{Client, Request, Response, StatusCode, retry};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, Result};
use reqwest_retry::policies::ExponentialBackoff;
use reqwest_retry::{
    DefaultRetryableStrategy, RetryTransientMiddleware, Retryable, RetryableStrategy,
};
use tokio::runtime::Handle;

use crate::trials::item;

pub(crate) const SETTINGS: [&str; 6] = [
    "reqwest",
    "reqwest, its own `retry`, healed",
    "reqwest-retry",
    "reqwest-retry, healed",
    "reqwest-retry, key in a middleware below",
    "idem-client",
];

/// The statuses after which the same request may be sent again.
const AGAIN: [u16; 8] = [408, 409, 421, 425, 429, 502, 503, 504];

/// What reqwest-retry does, and another attempt for each status of [`AGAIN`].
struct Healed;

impl RetryableStrategy for Healed {
    fn handle(&self, sent: &Result<Response>) -> Option<Retryable> {
        match sent {
            Ok(response) if AGAIN.contains(&response.status().as_u16()) => {
                Some(Retryable::Transient)
            }
            sent => DefaultRetryableStrategy.handle(sent),
        }
    }
}

/// Makes the key where it must not be made: it runs for each attempt.
struct KeyForEachAttempt;

#[async_trait::async_trait]
impl Middleware for KeyForEachAttempt {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut http::Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let key = Key::random().to_header();
        request.headers_mut().insert("idempotency-key", key);
        next.run(request, extensions).await
    }
}

fn retrying<S: RetryableStrategy + Send + Sync>(
    strategy: S,
) -> RetryTransientMiddleware<ExponentialBackoff, S> {
    let millisecond = Duration::from_millis(1);
    let policy = ExponentialBackoff::builder().retry_bounds(millisecond, millisecond);
    let policy = policy.build_with_max_retries(5);
    RetryTransientMiddleware::new_with_policy_and_strategy(policy, strategy)
}

/// reqwest's own retries, of every error and every status of [`AGAIN`].
fn own_retries() -> retry::Builder {
    retry::for_host("127.0.0.1")
        .max_retries_per_request(5)
        .no_budget()
        .classify_fn(|sent| {
            let status = sent.status().as_ref().map(StatusCode::as_u16);
            let again = status.is_none_or(|status| AGAIN.contains(&status));
            if again {
                sent.retryable()
            } else {
                sent.success()
            }
        })
}

fn client(setting: &str) -> ClientWithMiddleware {
    let plain = || ClientBuilder::new(Client::new());
    match setting {
        "reqwest" => plain().build(),
        "reqwest, its own `retry`, healed" => {
            let client = Client::builder().retry(own_retries()).build();
            ClientBuilder::new(client.expect("a client")).build()
        }
        "reqwest-retry" => plain().with(retrying(DefaultRetryableStrategy)).build(),
        "reqwest-retry, healed" => plain().with(retrying(Healed)).build(),
        "reqwest-retry, key in a middleware below" => {
            let healed = plain().with(retrying(Healed));
            healed.with(KeyForEachAttempt).build()
        }
        "idem-client" => {
            let client = idem_client::client(Client::builder(), RetryPolicy::new());
            client.expect("a client")
        }
        other => panic!("no setting is called {other}"),
    }
}

/// Orders once, and reads the answer: returns its status.
async fn order(client: &ClientWithMiddleware, setting: &str, url: &str) -> Result<StatusCode> {
    let item = item(url);
    let mut request = client
        .post(url)
        .header("content-type", "application/json")
        .body(format!(r#"{{"item":"{item}"}}"#));
    // idem-client makes the key by itself.
    if setting != "idem-client" {
        let key = HeaderValue::from_str(&format!("\"{item}\"")).expect("a value");
        request = request.header("idempotency-key", key);
    }
    let answer = request.send().await?;
    let status = answer.status();
    answer.bytes().await.map_err(Error::from)?;
    Ok(status)
}

/// Returns how the order to each address ended.
pub(crate) fn ended(setting: &str, urls: &[String]) -> String {
    let ended = async {
        let mut words = Vec::new();
        for url in urls {
            // Of its own: a connection that was cut before is not used again.
            let client = client(setting);
            words.push(match order(&client, setting, url).await {
                Ok(status) => status.as_u16().to_string(),
                Err(_) => "error".to_owned(),
            });
        }
        words.join("\n")
    };
    Handle::current().block_on(ended)
}
