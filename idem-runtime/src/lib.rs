//! idem.

pub mod error;
pub mod fingerprint;
pub mod key;

pub use error::Invalid;
pub use key::{IdempotencyKey, Minter, Namespace, Scope};
