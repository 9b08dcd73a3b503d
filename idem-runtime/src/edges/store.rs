//! The store without the engine, for callers who order the steps themselves.
//!
//! [`Store`] is typed over [`RawStore`]. Both run on a connection of the caller, and never begin or end a
//! transaction. [`Backend`], [`Session`] and the related traits say which connections are accepted.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use idem_runtime::store::{Outcome, Store};
//! use idem_runtime::{IdempotencyKey, Namespace, schema};
//! # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
//! # schema::create_if_missing(&mut pool.acquire().await?).await?;
//!
//! let store = Store::<String, u64>::new(Namespace::from_static("payments"));
//! let key = "7f3c".parse::<IdempotencyKey>()?.global();
//! let request = "12.50 EUR to Ada".to_owned();
//!
//! for expected in ["fresh", "prior"] {
//!     let mut tx = pool.begin().await?;
//!     let found = match store.in_transaction(&mut *tx)?.begin(&key, "pay", &request).await? {
//!         Outcome::Fresh(claim) => {
//!             // … the business writes, in `tx`
//!             store.in_transaction(&mut *tx)?.commit(claim, &17).await?;
//!             "fresh"
//!         }
//!         Outcome::PriorResult { value: 17 } => "prior",
//!         other => panic!("{other:?}"),
//!     };
//!     tx.commit().await?;
//!     assert_eq!(found, expected);
//! }
//! # Ok(()) }
//! # #[cfg(not(feature = "sqlite"))]
//! # fn main() {}
//! ```

pub use crate::decision::{Outcome, TypedMismatch};
pub use crate::stores::{
    AsSession, Backend, Bound, LeaseBackend, RawStore, Session, Store, StoreClaim, StoreLease,
    Unknown,
};
/// Bounds of tests that are generic over the databases' connections.
#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use crate::stores::{LeaseSession, Migrate};
