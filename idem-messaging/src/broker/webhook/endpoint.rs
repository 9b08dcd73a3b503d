//! Where events are posted to.

use std::fmt;

use reqwest::Url;

use super::secret::{WebhookSecret, WebhookSecretError};
use crate::outbox::{OutboxEvent, PublishError};

/// A receiver: its URL, and the secrets that sign what is posted to it. `Debug` shows neither the secrets nor more of the URL
/// than its origin: path and query are often secret too.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) url: Url,
    pub(super) secrets: Vec<WebhookSecret>,
}

/// Why a URL is none of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It cannot be read, or has no host.
    #[error("the endpoint's URL cannot be read: {reason}; give an absolute URL")]
    Url {
        /// Why.
        reason: String,
    },
    /// It is not `https`, nor `http`.
    #[error("the endpoint's URL has the scheme `{scheme}`; give one with `https`")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// It has a user's name or password, which would be sent to whoever answers, and stand in logs.
    #[error(
        "the endpoint's URL has a user's name or a password; give it without, receivers check the signature"
    )]
    Credentials,
}

impl Endpoint {
    /// Creates an endpoint with one secret, which should be its own: whoever has it can sign for this endpoint.
    ///
    /// ```
    /// use idem_messaging::broker::webhook::Endpoint;
    ///
    /// let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
    /// let endpoint = Endpoint::new("https://receiver.example/hooks?token=17", secret)?;
    /// assert_eq!(endpoint.origin(), "https://receiver.example");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EndpointError`] if the URL is not absolute, not `https` or `http`, or has credentials.
    pub fn new(url: &str, secret: WebhookSecret) -> Result<Self, EndpointError> {
        let url = Url::parse(url).map_err(|error| EndpointError::Url {
            reason: error.to_string(),
        })?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(EndpointError::Scheme {
                scheme: url.scheme().to_owned(),
            });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::Credentials);
        }
        Ok(Self {
            url,
            secrets: vec![secret],
        })
    }

    /// Adds a secret. Each attempt is signed with all of them, in one header, so that the receiver can go from one to the next
    /// at any time: while a secret is rotated, give the new one and the old one. They may be of different schemes, so that a
    /// receiver can go from a shared secret to a public key.
    #[must_use]
    pub fn also_signed_with(mut self, secret: WebhookSecret) -> Self {
        self.secrets.push(secret);
        self
    }

    /// Returns the whole URL.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns scheme, host and port of the URL, which is what logs and errors show.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("origin", &self.origin())
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

/// Says where an event goes. An event goes to one endpoint: to tell several, append one event for each, with a label of its
/// own.
///
/// An [`Endpoint`] is the one of all events. A function of the event chooses among several; implement the trait where they
/// must be looked up.
///
/// ```
/// use idem_messaging::broker::webhook::{Endpoint, Endpoints};
/// use idem_messaging::outbox::{OutboxEvent, PublishError};
///
/// struct Tenants(sqlx::SqlitePool);
///
/// impl Endpoints for Tenants {
///     async fn endpoint(&self, event: &OutboxEvent) -> Result<Endpoint, PublishError> {
///         let query = sqlx::query_as("SELECT url, secret FROM endpoint WHERE topic = ?1 AND enabled");
///         let found = query.bind(event.topic()).fetch_optional(&self.0).await;
///         let found: Option<(String, String)> = found.map_err(PublishError::unavailable)?;
///         let (url, secret) = found.ok_or_else(|| PublishError::permanent("nobody wants it any more"))?;
///         Ok(Endpoint::new(&url, secret.parse()?)?)
///     }
///
///     async fn gone(&self, event: &OutboxEvent, _endpoint: &Endpoint) {
///         let update = sqlx::query("UPDATE endpoint SET enabled = false WHERE topic = ?1");
///         let _ = update.bind(event.topic()).execute(&self.0).await;
///     }
/// }
/// ```
pub trait Endpoints: Send + Sync + 'static {
    /// Whether all events go to one receiver. While that one cannot be reached, or asks for less (429), nobody can publish: the
    /// relay waits, and no event uses up an attempt. Of several receivers none may stop the others.
    const ONE_RECEIVER: bool = false;

    /// Returns the endpoint of an event. It is called for each attempt.
    ///
    /// # Errors
    /// [`PublishError`], which says what the relay does next: permanent if the event has none, unavailable if they cannot be
    /// looked up now.
    fn endpoint(
        &self,
        event: &OutboxEvent,
    ) -> impl Future<Output = Result<Endpoint, PublishError>> + Send;

    /// Is called when an endpoint has answered `410 Gone`: it wants no more events, and should be disabled (Standard Webhooks,
    /// *Delivery success and failure*). The default does nothing.
    fn gone(&self, event: &OutboxEvent, endpoint: &Endpoint) -> impl Future<Output = ()> + Send {
        let _ = (event, endpoint);
        async {}
    }
}

impl Endpoints for Endpoint {
    const ONE_RECEIVER: bool = true;

    async fn endpoint(&self, _event: &OutboxEvent) -> Result<Endpoint, PublishError> {
        Ok(self.clone())
    }
}

impl<F> Endpoints for F
where
    F: Fn(&OutboxEvent) -> Result<Endpoint, PublishError> + Send + Sync + 'static,
{
    async fn endpoint(&self, event: &OutboxEvent) -> Result<Endpoint, PublishError> {
        self(event)
    }
}

impl From<EndpointError> for PublishError {
    /// Permanent: the event is set aside until somebody has mended the URL and re-queues it.
    fn from(error: EndpointError) -> Self {
        Self::permanent(error)
    }
}

impl From<WebhookSecretError> for PublishError {
    /// Permanent: the event is set aside until somebody has mended the secret and re-queues it.
    fn from(error: WebhookSecretError) -> Self {
        Self::permanent(error)
    }
}
