//! Where records are kept: one protocol, a dialect for each database, and the store without the
//! engine.

mod backend;
mod bound;
pub(crate) mod lease;
pub(crate) mod leased;
mod lent;
mod reconcile;
#[cfg_attr(
    not(feature = "sqlite"),
    allow(dead_code, reason = "SQLite alone has no lock to try")
)]
pub(crate) mod running;
pub(crate) mod session;
mod typed;

#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

pub use self::backend::Backend;
pub use self::bound::{Bound, StoreClaim};
pub use self::lease::{LeaseBackend, LeaseSession};
pub use self::leased::StoreLease;
pub(crate) use self::lent::Lent;
pub use self::reconcile::Unknown;
pub(crate) use self::session::{Ask, CommitError, Entry, Held, Written};
pub use self::session::{Migrate, Session};
pub use self::typed::{RawStore, Store};
pub use crate::outcome::{Outcome, TypedMismatch};
