//! Webhooks: events are posted to HTTP endpoints, signed as Standard Webhooks says, by a shared secret or by a key pair.
//!
//! Endpoints are often given by customers, so that the publisher trusts none of them:
//!
//! - Only addresses of the public Internet are dialled, unless a network is
//!   [allowed](WebhookBuilder::allow_network). A name is resolved once for a connection, its addresses are checked, and those
//!   are dialled; an address in the URL is checked too. No proxy of the environment is used, which would dial for us.
//! - No redirect is followed.
//! - A request has a time limit as a whole, and of an answer's body no more is read than an error's text shows.
//! - Secrets, and what stands in a URL behind its host, are in no log, error or `Debug`.
//!
//! An endpoint's answer is one of five things to the relay:
//!
//! | answer | one receiver ([`Endpoint`]) | several ([`Endpoints`]) |
//! |---|---|---|
//! | 200-299 | published | published |
//! | 410 | dead at once, and [`gone`](Endpoints::gone) is called | the same |
//! | 429 | the relay waits, no attempt is used up | a failed attempt |
//! | no connection | the relay waits, no attempt is used up | a failed attempt |
//! | any other status, no answer in time | a failed attempt | a failed attempt |
//!
//! A `Retry-After` is the least wait in each of them, up to [`longest_wait`](WebhookBuilder::longest_wait). Attempts and their
//! backoff are the [`Relay`](crate::outbox::Relay)'s. Standard Webhooks recommends several days: `max_attempts(20)` with
//! `backoff(5 s, 24 h)`, for example.

mod address;
mod answer;
mod client;
mod endpoint;
mod error;
mod network;
mod publisher;
mod request;
mod resolver;
mod retry_after;
mod secret;
mod settings;

pub use self::endpoint::{Endpoint, EndpointError, Endpoints};
pub use self::error::WebhookError;
pub use self::publisher::WebhookPublisher;
pub use self::resolver::{Resolver, SystemResolver};
pub use self::secret::{WebhookSecret, WebhookSecretError};
pub use self::settings::WebhookBuilder;
