//! The store without the engine, for those who order the steps themselves.
//!
//! [`Store`] is typed over [`RawStore`]; both run on a connection of yours, and neither opens or closes a
//! transaction. [`Backend`], [`Session`] and their kin say which connections those are.

pub use crate::decision::{Outcome, TypedMismatch};
pub use crate::stores::{
    AsSession, Backend, Bound, LeaseBackend, RawStore, Session, Store, StoreClaim, StoreLease,
    Unknown,
};
/// Bounds of tests that are generic over the databases' connections.
#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use crate::stores::{LeaseSession, Migrate};
