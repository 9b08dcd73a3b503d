//! The store without the engine, for callers who order the steps themselves.
//!
//! [`Store`] is typed over [`RawStore`]. Both run on a connection of the caller, and never begin or end a
//! transaction. [`Backend`], [`Session`] and the related traits say which connections are accepted.

pub use crate::decision::{Outcome, TypedMismatch};
pub use crate::stores::{
    AsSession, Backend, Bound, LeaseBackend, LeaseSession, Migrate, RawStore, Session, Store,
    StoreClaim, StoreLease, Unknown,
};
