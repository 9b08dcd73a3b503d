//! The stores of the records: one protocol, a dialect for each database, and the store without the engine.

mod backend;
mod bound;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod bounded;
mod claim;
#[cfg(feature = "operate")]
pub(crate) mod doctor;
#[cfg(not(feature = "test-switches"))]
mod fast_check;
#[cfg(feature = "test-switches")]
pub mod fast_check;
pub(crate) mod hold;
pub(crate) mod lapsed;
pub(crate) mod lease;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod lease_sql;
pub(crate) mod leased;
#[cfg(feature = "operate")]
pub(crate) mod operate;
#[cfg(all(
    any(feature = "mysql", feature = "postgres"),
    not(feature = "test-switches")
))]
mod recent_keys;
#[cfg(all(
    any(feature = "mysql", feature = "postgres"),
    feature = "test-switches"
))]
pub mod recent_keys;
mod reconcile;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod rollback_guard;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod row;
pub mod schema;
pub(crate) mod session;
mod typed;

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

pub use self::backend::Backend;
pub(crate) use self::backend::{FinishOutcome, NotOpened, PoolTraitsOf, write};
pub use self::bound::{Bound, StoreClaim};
pub(crate) use self::claim::{ClaimRequest, Found};
pub use self::lease::LeaseBackend;
#[cfg(feature = "test-switches")]
pub use self::lease::LeaseSession;
pub use self::leased::StoreLease;
pub use self::reconcile::Unknown;
#[cfg(feature = "test-switches")]
pub use self::session::Migrate;
#[cfg(feature = "metrics")]
pub(crate) use self::session::TableSample;
#[cfg(feature = "operate")]
pub(crate) use self::session::purgeable;
pub use self::session::{AsSession, Session};
pub(crate) use self::session::{
    BodyWrites, ClaimOf, CommitError, FoundBy, NewRecord, Purgeable, Written,
};
pub use self::typed::{RawStore, Store};
