//! Making a publisher.

use std::sync::Arc;
use std::time::Duration;

use super::address::AddressPolicy;
use super::client;
use super::endpoint::Endpoints;
use super::error::WebhookError;
use super::network::Network;
use super::publisher::WebhookPublisher;
use super::resolver::{Resolver, SystemResolver};

/// Collects what a [`WebhookPublisher`] may do; [`build`](Self::build) checks it.
#[derive(Clone, Debug)]
#[must_use = "a publisher is made by `build`"]
pub struct WebhookBuilder<E, R = SystemResolver> {
    endpoints: E,
    resolver: R,
    timeout: Duration,
    longest_wait: Duration,
    allows_http: bool,
    allowed: Vec<String>,
    root_certificates: Vec<Vec<u8>>,
}

impl<E: Endpoints> WebhookPublisher<E> {
    /// Starts a publisher to an [`Endpoint`](super::Endpoint), or to those that a function chooses.
    pub fn builder(endpoints: E) -> WebhookBuilder<E> {
        WebhookBuilder {
            endpoints,
            resolver: SystemResolver,
            timeout: Duration::from_secs(15),
            longest_wait: Duration::from_hours(1),
            allows_http: false,
            allowed: Vec::new(),
            root_certificates: Vec::new(),
        }
    }
}

impl<E: Endpoints, R: Resolver> WebhookBuilder<E, R> {
    /// Sets the time that a request may take as a whole, from its first connection to the status. The default is 15 seconds
    /// (Standard Webhooks, *Request timeouts*: 15 to 30 seconds). Set the relay's
    /// [`publish_timeout`](crate::outbox::Relay::publish_timeout) above it, so that the event's last error names the status.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the longest time that a `Retry-After` may put an event off. The default is one hour.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Posts to endpoints with `http` too. The signature protects the payload from being changed, and not from being read.
    pub fn allow_http(mut self) -> Self {
        self.allows_http = true;
        self
    }

    /// Dials addresses of this network although they are not of the public Internet: `10.1.0.0/16`, `fd00::/8` or one
    /// address. By default no private, loopback, link-local or otherwise special address is dialled.
    pub fn allow_network(mut self, network: impl Into<String>) -> Self {
        self.allowed.push(network.into());
        self
    }

    /// Trusts the certificates of these issuers, in PEM form, beside those of the platform.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// Sets who resolves names. The default is the operating system. Its answers are checked all the same.
    pub fn resolver<T: Resolver>(self, resolver: T) -> WebhookBuilder<E, T> {
        WebhookBuilder {
            resolver,
            endpoints: self.endpoints,
            timeout: self.timeout,
            longest_wait: self.longest_wait,
            allows_http: self.allows_http,
            allowed: self.allowed,
            root_certificates: self.root_certificates,
        }
    }

    /// Checks the settings, and makes the publisher.
    ///
    /// # Errors
    /// [`WebhookError`], which names what is not as its method says.
    pub fn build(self) -> Result<WebhookPublisher<E>, WebhookError> {
        let mut policy = AddressPolicy::default();
        for network in self.allowed {
            let read = Network::parse(&network).ok_or(WebhookError::Network { network })?;
            policy.allowed.push(read);
        }
        let policy = Arc::new(policy);
        let client = client::build(self.resolver, Arc::clone(&policy), &self.root_certificates)?;
        Ok(WebhookPublisher {
            endpoints: self.endpoints,
            client,
            policy,
            timeout: self.timeout,
            longest_wait: self.longest_wait,
            allows_http: self.allows_http,
        })
    }
}
