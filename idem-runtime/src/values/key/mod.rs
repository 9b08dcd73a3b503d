//! The identity of a request: namespace, scope and key.
//!
//! All three are compared byte for byte on every database: `Req-A` is not `req-a`, inner spaces
//! count, and Unicode is not normalised. [`limits`] holds the only length limits: a value that
//! passes these checks fits the record.

mod derive;
pub(crate) mod hex;
mod idempotency;
pub mod limits;
mod namespace;
mod scope;
pub(crate) mod source;
pub(crate) mod text;

pub use idempotency::IdempotencyKey;
pub use namespace::Namespace;
pub(crate) use namespace::is_namespace;
pub use scope::Scope;
pub(crate) use source::{KeySource, ScopeSource};

#[cfg(test)]
mod tests;
