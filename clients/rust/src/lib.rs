#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! - [`Key`] is a key, and [`KeyChoice`] is what a caller says about it.
//! - [`RetryPolicy`] says how often, how long, and which methods.
//! - [`KeyMiddleware`] (feature `reqwest`, on by default) is a middleware of reqwest-middleware; [`client`] builds the client
//!   around it, whose redirects do not carry the key away.
//! - [`KeyLayer`] (feature `tower`) is a layer for services of [`http::Request`].
//! - `ledger` (features `postgres`, `mysql`, `sqlite`) stores a request in the caller's transaction, and sends it afterwards.
//! - [`ClientError`] says why a request has no answer, and [`Verdict`] what an answer says.

#![cfg_attr(
    not(any(feature = "reqwest", feature = "tower")),
    allow(
        dead_code,
        reason = "without a client to wrap, only keys and verdicts are used"
    )
)]

mod answer;
mod attempts;
mod clock;
mod error;
mod key;
#[cfg(feature = "tower")]
mod layer;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub mod ledger;
#[cfg(feature = "reqwest")]
mod middleware;
mod policy;
mod retry_after;
mod selection;
mod whole;

pub use self::answer::Verdict;
pub use self::clock::{Clock, Pause, SystemClock};
pub use self::error::{BoxError, ClientError};
pub use self::key::{IDEMPOTENCY_KEY, KEY_MAX, Key, KeyError};
#[cfg(feature = "tower")]
pub use self::layer::{KeyLayer, KeyService};
#[cfg(feature = "reqwest")]
pub use self::middleware::{KeyMiddleware, client, redirect_policy};
pub use self::policy::RetryPolicy;
pub use self::selection::KeyChoice;

/// The page of clients, whose code is compiled.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../../../docs/clients.md")]
    struct Clients;
}
