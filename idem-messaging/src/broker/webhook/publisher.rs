//! Posts the events of an outbox.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use super::address::AddressPolicy;
use super::answer::{Asked, judge};
use super::endpoint::Endpoints;
use super::request;
use super::resolver::refusal;
use crate::outbox::{OutboxEvent, PublishError, Publisher};

/// Posts events to HTTP endpoints as Standard Webhooks asks: the payload as it is, signed with every secret of the endpoint.
///
/// | header | value |
/// |---|---|
/// | `webhook-id`, `idempotency-key` | the event's id, the same on every attempt |
/// | `webhook-timestamp`, `webhook-signature` | the time of this attempt in seconds, and its signatures |
/// | `content-type` | that of the payload |
/// | `ce-..`, `traceparent`, `tracestate` | the attributes of the CloudEvent, and its trace |
///
/// An event's own headers are sent too.
///
/// ```
/// use idem_messaging::broker::webhook::{Endpoint, WebhookPublisher};
///
/// # fn publisher() -> Result<(), Box<dyn std::error::Error>> {
/// let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// let endpoint = Endpoint::new("https://receiver.example/hooks", secret)?;
/// let publisher = WebhookPublisher::builder(endpoint).build()?;
/// # drop(publisher);
/// # Ok(()) }
/// ```
pub struct WebhookPublisher<E> {
    pub(super) endpoints: E,
    pub(super) client: Client,
    pub(super) policy: Arc<AddressPolicy>,
    pub(super) timeout: Duration,
    pub(super) longest_wait: Duration,
    pub(super) allows_http: bool,
}

impl<E: Endpoints> WebhookPublisher<E> {
    /// Refuses what must not be dialled and never reaches the resolver.
    fn check(&self, url: &Url) -> Result<(), PublishError> {
        if url.scheme() != "https" && !self.allows_http {
            return Err(PublishError::permanent(format!(
                "{} is not `https`; nothing was sent; use `https`, or allow it with `allow_http`",
                url.origin().ascii_serialization()
            )));
        }
        let host = url.host_str().unwrap_or_default();
        // The brackets of IPv6.
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let Ok(address) = bare.parse::<IpAddr>() else {
            return Ok(());
        };
        let checked = self.policy.check(host, address);
        checked.map_err(PublishError::permanent)
    }

    /// Returns what the relay does about a request without an answer.
    fn unanswered(origin: &str, error: &reqwest::Error) -> PublishError {
        if let Some(refused) = refusal(error) {
            // The name may have another address at the next attempt.
            return PublishError::retry(refused.clone());
        }
        let causes = causes(error);
        if error.is_connect() {
            let text = format!("{origin} cannot be reached: {causes}; nothing was sent");
            return if E::ONE_RECEIVER {
                PublishError::unavailable(text)
            } else {
                PublishError::retry(text)
            };
        }
        PublishError::retry(format!(
            "{origin} did not answer: {causes}; it may have taken the event"
        ))
    }
}

impl<E: Endpoints> Publisher for WebhookPublisher<E> {
    /// Posts an event, and returns `Ok` after the endpoint has answered with a status of 200 to 299.
    ///
    /// # Errors
    /// - Permanent: the endpoint answered 410, its URL is not `https` or is an address that is not dialled, or a header of the
    ///   event cannot be sent.
    /// - Unavailable, if all events go to [one receiver](Endpoints::ONE_RECEIVER): it cannot be reached, or answered 429.
    /// - Otherwise to be tried again: any other status, no answer in time, a name whose addresses are not dialled. A
    ///   `Retry-After` is honoured.
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let endpoint = self.endpoints.endpoint(event).await?;
        self.check(&endpoint.url)?;
        let headers = request::headers(event, &endpoint)?;
        let post = self.client.post(endpoint.url.clone());
        let request = post.headers(headers).body(event.payload().to_vec());
        let asked = Asked {
            origin: endpoint.origin(),
            is_one_receiver: E::ONE_RECEIVER,
            longest_wait: self.longest_wait,
            deadline: Instant::now() + self.timeout,
        };
        let Ok(sent) = timeout_at(asked.deadline, request.send()).await else {
            return Err(PublishError::retry(format!(
                "{} did not answer within {:?}; it may have taken the event",
                asked.origin, self.timeout
            )));
        };
        match sent {
            Ok(response) => {
                let is_gone = response.status() == StatusCode::GONE;
                let judged = judge(response, &asked).await;
                if is_gone {
                    self.endpoints.gone(event, &endpoint).await;
                }
                judged
            }
            Err(error) => Err(Self::unanswered(&asked.origin, &error)),
        }
    }
}

impl<E> fmt::Debug for WebhookPublisher<E> {
    /// Leaves out the endpoints, which have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookPublisher")
            .field("policy", &self.policy)
            .field("timeout", &self.timeout)
            .field("allows_http", &self.allows_http)
            .finish_non_exhaustive()
    }
}

/// The causes of an error, from the outermost on. The error itself shows the URL, and they do not.
fn causes(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Some show their own causes, too.
        if causes
            .last()
            .is_none_or(|last: &String| !last.contains(&text))
        {
            causes.push(text);
        }
        next = cause.source();
    }
    if causes.is_empty() {
        return "the connection was closed".to_owned();
    }
    causes.join(": ")
}
