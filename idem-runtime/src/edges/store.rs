//! The store without the engine, for callers who order the steps themselves.
//!
//! [`Store`] is typed over [`RawStore`]. Both run on a connection of the caller, and never begin or end a
//! transaction. [`Backend`], [`Session`] and the related traits say which connections are accepted.

pub use crate::decision::{Outcome, TypedMismatch};
pub use crate::stores::{
    AsSession, Backend, Bound, LeaseBackend, RawStore, Session, Store, StoreClaim, StoreLease,
    Unknown,
};
/// Bounds of tests that are generic over the databases' connections.
#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use crate::stores::{LeaseSession, Migrate};
