//! The store without the engine, for those who order the steps themselves.
//!
//! [`Store`] is typed over [`RawStore`]; both run on a connection of yours, and neither opens or closes a
//! transaction. [`Backend`], [`Session`] and their kin say which connections those are.

pub use crate::decision::{Outcome, TypedMismatch};
pub use crate::stores::{
    AsSession, Backend, Bound, LeaseBackend, LeaseSession, Migrate, RawStore, Session, Store,
    StoreClaim, StoreLease, Unknown,
};
